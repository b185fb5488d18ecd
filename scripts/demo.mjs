// npm run demo: installs, configures, uses and removes an agent on a real host on this machine, and proves that nothing
// is left behind.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";
import { outsideOfGroups, run, start, stoppable } from "./stoppable.mjs";

ensureModules();
if (!ensureRoot("npm run demo") || !ensurePackages()) process.exit(7);
must("node", ["scripts/build.mjs"]);

const clm = join(process.env.CLM_DIST ?? "dist", "clm.js");
const home = mkdtempSync(join(tmpdir(), "clm-demo-"));
const env = { ...process.env, CLM_HOME: home };
// A name of its own, so that it never takes down a lab of the user.
const lab = `demo-${randomBytes(2).toString("hex")}`;
const host = `${lab}-1`;
const agent = "hermes-demo";
let failed = 0;

const heading = (text) => console.log(`\n── ${text}`);

/** Runs clm without input and shows its output; after the first failure nothing more is run. */
async function show(args, { input } = {}) {
  if (failed) return;
  console.log(`\n$ ${input ? `echo '${input}' | ` : ""}clm ${args.map(word).join(" ")}`);
  const stdio = [input ? "pipe" : "ignore", "inherit", "inherit"];
  const { status } = await run("node", [clm, ...args], { env, stdio, ...(input && { input: `${input}\n` }) });
  failed ||= status;
}

const word = (text) => (/^[\w./:@=,-]+$/.test(text) ? text : `'${text}'`);

/** The host's files: paths, kinds, modes, owners and contents, without the backups of passwd files. */
async function tree() {
  const skip = ["/proc", "/sys", "/run", "/tmp", "/dev", "/var/log", "/var/cache", "/var/tmp", "/var/lib/systemd"];
  const script = `find / -xdev ${skip.map((path) => `-path ${path} -prune -o`).join(" ")} -printf '%p %y %m %U:%G\\n' | sort
    find /etc /home -xdev -type f ! -name '*-' -exec sha256sum {} + | sort -k 2`;
  const args = ["lab", "exec", host, "--", "sh", "-c", script];
  return (await run("node", [clm, ...args], { env, stdio: ["ignore", "pipe", "inherit"] })).stdout;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Sends a message as documented: an SSH tunnel, the key from secrets.json on stdin, and curl. */
async function ask(question) {
  if (failed) return;
  const { identity, user, address, agents } = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8")).hosts[0];
  const local = await freePort();
  const tunnel = [
    ...["-N", "-F", "none", "-i", identity, "-o", `UserKnownHostsFile=${join(home, "known_hosts")}`],
    ...["-o", `HostKeyAlias=${host}`, "-L", `${local}:127.0.0.1:${agents[agent].port}`, `${user}@${address}`],
  ];
  const query = `.["${host}:hermes:${agent}"].HERMES_API_SERVER_KEY.value`;
  console.log(`\n$ KEY=$(jq -r '${query}' secrets.json)`);
  console.log(`$ ssh -N -L ${local}:127.0.0.1:${agents[agent].port} ${user}@${address} &`);
  console.log(`$ curl http://127.0.0.1:${local}/v1/chat/completions -H "Authorization: Bearer $KEY" -d '…'`);
  const printed = await run("jq", ["-r", query, join(home, "secrets.json")], { stdio: ["ignore", "pipe", "inherit"] });
  const key = printed.stdout.trim();
  if (!/^[0-9a-f]{64}$/.test(key)) throw new Error("the page's jq line did not print the key");
  const ssh = start("ssh", tunnel, { stdio: "ignore" });
  try {
    const body = JSON.stringify({ model: "hermes-agent", messages: [{ role: "user", content: question }] });
    const curl = [
      `url = "http://127.0.0.1:${local}/v1/chat/completions"`,
      `header = "Authorization: Bearer ${key}"`,
      `header = "Content-Type: application/json"`,
      `data = ${JSON.stringify(body)}`,
    ].join("\n");
    for (let attempt = 0; ; attempt++) {
      const piped = { input: curl, stdio: ["pipe", "pipe", "inherit"] };
      const { status, stdout } = await run("curl", ["-sf", "--max-time", "60", "-K", "-"], piped);
      if (status === 0) {
        const answer = JSON.parse(stdout).choices[0].message.content;
        console.log(answer);
        if (!answer.includes(question)) failed = 1;
        return;
      }
      if (attempt === 50) throw new Error(`curl ended with ${status}`);
      await sleep(200);
    }
  } finally {
    ssh.kill();
  }
}

async function demo() {
  heading("A real host, with systemd, sshd, sudo and its own address");
  await show(["lab", "up", "--name", lab]);
  await show(["host", "check", host]);
  const before = await tree();

  heading("Install and configure an agent. Hermes needs the internet, so the lab has a stand-in that says so");
  await show(["registry", "list"]);
  await show(["provider", "add", "echo", "--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo"]);
  await show(["agent", "install", "--type", "hermes", "--host", host, "--name", agent, "--yes"]);
  await show(["agent", "configure", agent, "--provider", "echo"]);
  await show(["agent", "start", agent]);
  await show(["agent", "list"]);

  heading("Send it a message, through the SSH tunnel, the agent's API and its provider");
  await ask("Say only the word OK.");

  heading("Read and change its memory");
  await show(["agent", "memory", "write", agent, "USER.md"], { input: "Prefers short answers." });
  await show(["agent", "memory", "read", agent, "USER.md"]);

  heading("Remove it, with a backup, and compare the host with its state before");
  await show(["agent", "remove", agent, "--yes"]);
  if (!failed) {
    const same = (await tree()) === before;
    console.log(same ? "\nThe host is as it was before the agent was installed." : "\nThe host is NOT as it was.");
    failed ||= same ? 0 : 1;
  }
  await show(["audit", "--verify"]);
  return failed;
}

/** Prints nothing to a closed terminal. */
async function leaveNothing(signal) {
  const stdio = signal ? "ignore" : ["ignore", "inherit", "inherit"];
  const { status } = await outsideOfGroups("node", [clm, "lab", "down", "--name", lab], { env, stdio });
  if (status !== 0) console.error(`the lab is left; run: clm lab down --name ${lab}`);
  rmSync(home, { recursive: true, force: true });
}

process.exit(await stoppable(demo, leaveNothing));
