// npm run demo: a real host on this machine, an agent installed on it, configured, answering, remembering, and gone again.
// Nothing is left behind, and the demo proves it.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";

ensureModules();
if (!ensureRoot("npm run demo") || !ensurePackages()) process.exit(7);
must("node", ["scripts/build.mjs"]);

const home = mkdtempSync(join(tmpdir(), "clm-demo-"));
const env = { ...process.env, CLM_HOME: home };
// A name of its own: a lab of yours must not be taken for this one, and taken down.
const lab = `demo-${randomBytes(2).toString("hex")}`;
const host = `${lab}-1`;
const agent = "hermes-demo";
let failed = 0;

const heading = (text) => console.log(`\n── ${text}`);

function run(args, options) {
  return spawnSync("node", ["dist/clm.js", ...args], { env, encoding: "utf8", ...options });
}

/** Runs clm for everybody to see; after the first failure nothing more is shown. */
function show(args, { input } = {}) {
  if (failed) return;
  console.log(`\n$ ${input ? `echo '${input}' | ` : ""}clm ${args.map(word).join(" ")}`);
  const stdin = input ? { input: `${input}\n`, stdio: ["pipe", "inherit", "inherit"] } : { stdio: "inherit" };
  failed ||= run(args, stdin).status ?? 1;
}

const word = (text) => (/^[\w./:@=,-]+$/.test(text) ? text : `'${text}'`);

/** Everything on the host that stays: paths, kinds, modes, owners and contents. Backups of passwd files hold the past. */
function tree() {
  const skip = ["/proc", "/sys", "/run", "/tmp", "/dev", "/var/log", "/var/cache", "/var/tmp", "/var/lib/systemd"];
  const script = `find / -xdev ${skip.map((path) => `-path ${path} -prune -o`).join(" ")} -printf '%p %y %m %U:%G\\n' | sort
    find /etc /home -xdev -type f ! -name '*-' -exec sha256sum {} + | sort -k 2`;
  return run(["lab", "exec", host, "--", "sh", "-c", script], { maxBuffer: 1 << 28 }).stdout;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** The page's own way: an SSH tunnel, the key out of secrets.json, and curl. The key goes in on stdin. */
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
  const key = spawnSync("jq", ["-r", query, join(home, "secrets.json")], { encoding: "utf8" }).stdout.trim();
  if (!/^[0-9a-f]{64}$/.test(key)) throw new Error("the page's jq line did not print the key");
  const ssh = spawn("ssh", tunnel, { stdio: "ignore" });
  try {
    const body = JSON.stringify({ model: "hermes-agent", messages: [{ role: "user", content: question }] });
    const curl = [
      `url = "http://127.0.0.1:${local}/v1/chat/completions"`,
      `header = "Authorization: Bearer ${key}"`,
      `header = "Content-Type: application/json"`,
      `data = ${JSON.stringify(body)}`,
    ].join("\n");
    for (let attempt = 0; ; attempt++) {
      const { status, stdout } = spawnSync("curl", ["-sf", "-K", "-"], { input: curl, encoding: "utf8" });
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

process.on("SIGINT", () => {}); // the child gets it too and ends; the lab is taken down below
try {
  heading("A real host: systemd, sshd, sudo and an address of its own");
  show(["lab", "up", "--name", lab]);
  show(["host", "check", host]);
  const before = tree();

  heading("An agent on it. Hermes itself needs the internet; the lab brings a stand-in that says so");
  show(["registry", "list"]);
  show(["provider", "add", "echo", "--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo"]);
  show(["agent", "install", "--type", "hermes", "--host", host, "--name", agent, "--yes"]);
  show(["agent", "configure", agent, "--provider", "echo"]);
  show(["agent", "start", agent]);
  show(["agent", "list"]);

  heading("Ask it something, through the whole chain: tunnel, gate, agent, provider");
  await ask("Say only the word OK.");

  heading("What it remembers is yours to read and to change");
  show(["agent", "memory", "write", agent, "USER.md"], { input: "Prefers short answers." });
  show(["agent", "memory", "read", agent, "USER.md"]);

  heading("Gone again, with a backup, and the host as it was found");
  show(["agent", "remove", agent, "--yes"]);
  if (!failed) {
    const same = tree() === before;
    console.log(same ? "\nThe host is as it was before the agent came." : "\nThe host is NOT as it was.");
    failed ||= same ? 0 : 1;
  }
  show(["audit", "--verify"]);
} finally {
  run(["lab", "down", "--name", lab], { stdio: "inherit" });
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed);
