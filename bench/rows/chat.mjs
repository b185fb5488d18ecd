import { spawn, spawnSync } from "node:child_process";
import { connect } from "node:net";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { onLab, sshTrue } from "../lab.mjs";
import { atMost, clm, median, time } from "../measure.mjs";

const lab = { name: "benchchat", hosts: 1 };
const rounds = 9;
const local = 18642;

/** From Enter to the first byte of the answer: clm's whole command against ssh -L with curl through it. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  return onLab(lab, async (setting) => {
    const { env } = setting;
    const say = (...words) => time([...clm, ...words], env);
    say("provider", "add", "echo", "--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo");
    say("agent", "install", "--type", "hermes", "--host", `${lab.name}-1`, "--name", "bench", "--yes");
    say("agent", "configure", "bench", "--provider", "echo");
    const chat = () => firstByte([...clm, "chat", "bench", "--once", "hello"], env);
    const header = spawnSync("node", ["dist/clm.js", "agent", "key", "bench", "--header"], {
      env: { ...process.env, ...env },
      encoding: "utf8",
    }).stdout;
    const times = { chat: [], curl: [] };
    for (let round = 0; round <= rounds; round++) {
      const [chatMs, curlMs] = [await chat(), await curlThroughTunnel(setting, header)];
      // The first fills caches.
      if (round === 0) continue;
      times.chat.push(chatMs);
      times.curl.push(curlMs);
    }
    return [atMost("chat, to the first byte", median(times.chat), "ssh -L and curl", median(times.curl), 1.2)];
  });
}

/** Opens the tunnel, waits until it is there, asks, and ends it: what a person without clm types. */
async function curlThroughTunnel(setting, header) {
  const begin = process.hrtime.bigint();
  const words = sshTrue(setting).slice(1, -1);
  const ssh = spawn("ssh", ["-N", "-L", `127.0.0.1:${local}:127.0.0.1:8642`, ...words], { stdio: "ignore" });
  try {
    while (!(await isOpen(local))) await new Promise((next) => setTimeout(next, 2));
    const body = JSON.stringify({
      model: "hermes-agent",
      stream: true,
      messages: [{ role: "user", content: "hello" }],
    });
    const curl = ["curl", "-sN", "-H", "@-", "-H", "Content-Type: application/json", "-d", body];
    await firstByte(
      [...curl, `http://127.0.0.1:${local}/v1/chat/completions`],
      {},
      { input: header, until: '"content"' },
    );
    return Number(process.hrtime.bigint() - begin) / 1e6;
  } finally {
    ssh.kill();
    await new Promise((ended) => ssh.once("exit", ended));
  }
}

const isOpen = (port) =>
  new Promise((told) => {
    const socket = connect(port, "127.0.0.1", () => told(true) || socket.destroy()).once("error", () => told(false));
  });

/** Milliseconds until the first byte on stdout, or until it holds a text; the command is waited for. */
function firstByte([program, ...args], env, { input = "", until = "" } = {}) {
  const begin = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
    let took;
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.includes(until)) took ??= Number(process.hrtime.bigint() - begin) / 1e6;
    });
    child.once("exit", (code) =>
      code === 0 && took !== undefined ? resolve(took) : reject(new Error(`${program} ended with ${code}: ${text}`)),
    );
    child.stdin.end(input);
  });
}

const skipped = (note) => ({
  what: "chat, to the first byte",
  against: "ssh -L and curl",
  goal: "<= 1.2 x",
  note: `skipped: ${note}`,
});
