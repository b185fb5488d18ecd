import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { start as spawn } from "../../scripts/stoppable.mjs";
import { Caller } from "../gateway/caller.mjs";
import { compared } from "../gateway/compared.mjs";
import { memory } from "../gateway/memory.mjs";
import { startNginx } from "../gateway/nginx.mjs";
import { agentsInPlace, onLab, sshTrue } from "../lab.mjs";
import { clm, freePort } from "../measure.mjs";
import { sized } from "../size.mjs";

const lab = { name: "benchgateway", hosts: 1 };
const agentPort = 8642;
const model = "bench";
const atOnce = 16;

const turns = sized({ rounds: 10, seconds: 1.5, warm: 3000 }, { rounds: 1, seconds: 0.2, warm: 50 });
const counts = sized({ many: 50_000, looks: 4 }, { many: 200, looks: 1 });

/**
 * The same small request, sixteen at a time, through the gateway and on three other routes to the same port of the same
 * host: plain `ssh -L`, nginx in front of that, and a listener in Node that forwards bytes through ssh2 without parsing
 * HTTP, which is the floor for the gateway. The routes take turns, so that other load affects all of them.
 */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  return onLab(lab, async (setting) => {
    const children = [];
    const start = (child) => {
      if (child) children.push(child);
      return child;
    };
    try {
      const bearer = agentInPlace(setting);
      const key = said(setting, "gateway", "key", "create", "--name", "bench", "--agents", "*", "--yes").trim();
      const used = await startGateway(setting, start);
      const rows = await compared(await openWays(setting, { bearer, key, gateway: used.port, start }), turns);
      await ended(used.child);
      const { child, port } = await startGateway(setting, start);
      return [...rows, await memory(child.pid, callersOf({ port, bearer: key, model }), counts)];
    } finally {
      await Promise.all(children.map(ended));
    }
  });
}

/** An agent whose unit runs a faster server on the agent's port. Returns the agent's key. */
function agentInPlace(setting) {
  agentsInPlace(setting);
  const program = "/usr/local/lib/clm-bench.py";
  inHost(setting, `cat >${program}`, readFileSync(new URL("../gateway/responder.py", import.meta.url)));
  inHost(
    setting,
    `mkdir -p /etc/systemd/system/hermes-bench.service.d
printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/python3 ${program} ${agentPort}\\n' >/etc/systemd/system/hermes-bench.service.d/bench.conf
systemctl daemon-reload
systemctl restart hermes-bench.service`,
  );
  return said(setting, "agent", "key", "bench", "--header")
    .trim()
    .replace(/^Authorization: Bearer /i, "");
}

function inHost({ env, fleet }, script, input = "") {
  const host = fleet[0].name;
  const words = [...clm.slice(1), "lab", "exec", host, "--", "/bin/sh", "-ec", script];
  const { status, stderr } = spawnSync(clm[0], words, { env: { ...process.env, ...env }, input, encoding: "utf8" });
  if (status !== 0) throw new Error(`a script in ${host} ended with ${status}: ${stderr}`);
}

function said({ env }, ...words) {
  const { status, stdout, stderr } = spawnSync(clm[0], [...clm.slice(1), ...words], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`clm ${words.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}

/** Sixteen callers on each route, each after its first answer. */
async function openWays(setting, { bearer, key, gateway, start }) {
  const { folder, fleet } = setting;
  const [tunnel, front] = [await freePort(), await freePort()];
  const words = sshTrue(setting).slice(1, -1);
  start(spawn("ssh", ["-N", "-L", `127.0.0.1:${tunnel}:127.0.0.1:${agentPort}`, ...words], { stdio: "ignore" }));
  const nginx = start(startNginx(folder, { port: front, to: tunnel }));
  const ports = {
    direct: tunnel,
    gateway,
    ...(nginx && { nginx: front }),
    floor: await startFloor(fleet[0], start),
  };
  const ways = Object.entries(ports).map(([name, port]) => {
    const who = name === "gateway" ? { bearer: key, model } : { bearer, model: "hermes-agent" };
    return { name, callers: callersOf({ port, ...who }) };
  });
  for (const { callers } of ways) await answered(callers);
  return ways;
}

const callersOf = (who) => Array.from({ length: atOnce }, () => new Caller(who));

/** Retries: processes that were just started may not listen yet. */
async function answered(callers) {
  for (let tries = 0; ; tries++) {
    const ends = await Promise.allSettled(callers.map((caller) => caller.ask()));
    const failed = ends.find(({ status }) => status === "rejected");
    if (!failed) return;
    if (tries === 100) throw failed.reason;
    await pause(100);
  }
}

async function startGateway({ env }, start) {
  const child = start(
    spawn(clm[0], [...clm.slice(1), "gateway", "serve", "--port", "0", "-o", "json"], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const { url } = JSON.parse(await firstLine(child, "ready"));
  return { child, port: Number(new URL(url).port) };
}

async function startFloor({ address, user, identity }, start) {
  const program = new URL("../gateway/floor.mjs", import.meta.url).pathname;
  const child = start(spawn("node", [program], { stdio: ["pipe", "pipe", "inherit"] }));
  child.stdin.end(JSON.stringify({ host: address, username: user, identity, port: agentPort }));
  return Number(await firstLine(child, ""));
}

function firstLine(child, word) {
  return new Promise((found, failed) => {
    let text = "";
    child.once("exit", (code) => failed(new Error(`${child.spawnargs.join(" ")} ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const line = text
        .split("\n")
        .slice(0, -1)
        .find((each) => each.includes(word));
      if (line !== undefined) found(line);
    });
  });
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, "exit");
  child.kill();
  await over;
}

const skipped = (note) => ({
  what: "gateway, a small request",
  against: "ssh -L",
  goal: "<= +0.5 ms",
  note: `skipped: ${note}`,
});
