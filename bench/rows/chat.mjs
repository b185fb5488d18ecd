import { spawnSync } from "node:child_process";
import { connect } from "node:net";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { start } from "../../scripts/stoppable.mjs";
import { agentsInPlace, onLab, sshTrue } from "../lab.mjs";
import { atMost, clm, freePort, median } from "../measure.mjs";
import { sized } from "../size.mjs";

const lab = { name: "benchchat", hosts: 1 };
const messages = sized(15, 1);
const commands = sized(7, 1);

/**
 * Time to the first byte of an answer, compared with curl through ssh -L: a message in an open conversation with curl
 * through an open tunnel, and a whole command, which also verifies the owner of the port, with starting ssh and curl.
 */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  return onLab(lab, async (setting) => {
    const { env } = setting;
    agentsInPlace(setting);
    const key = spawnSync(clm[0], [...clm.slice(1), "agent", "key", "bench", "--header"], {
      env: { ...process.env, ...env },
      encoding: "utf8",
    }).stdout;
    const times = { message: [], tunnelled: [], whole: [], both: [] };
    const talk = await conversation(env);
    const tunnel = await openTunnel(setting);
    for (let round = 0; round <= messages; round++) {
      const took = { message: await talk.say(`hello ${round}`), tunnelled: await curl(key, tunnel) };
      // The first round fills caches.
      if (round > 0) for (const name of Object.keys(took)) times[name].push(took[name]);
    }
    await talk.leave();
    await tunnel.close();
    for (let round = 0; round <= commands; round++) {
      const took = {
        whole: await firstByte([...clm, "chat", "bench", "--once", "hello"], env),
        both: await sshAndCurl(setting, key),
      };
      if (round > 0) for (const name of Object.keys(took)) times[name].push(took[name]);
    }
    const [message, tunnelled, whole, both] = Object.values(times).map(median);
    return [
      atMost("chat, a message to the first byte", message, "curl through an open ssh -L", tunnelled, 1.2),
      { ...atMost("chat --once, to the first byte", whole, "ssh -L and curl", both, 1.2), goal: "-", met: undefined },
    ];
  });
}

/** A conversation on a terminal; `say` returns the milliseconds until the answer begins. */
async function conversation(env) {
  const child = start("script", ["-qec", `${clm.join(" ")} chat bench`, "/dev/null"], {
    env: { ...process.env, ...env },
  });
  let text = "";
  let news = () => {};
  child.stdout.on("data", (chunk) => {
    text += chunk;
    news();
  });
  const shows = async (what) => {
    while (!text.includes(what)) {
      await new Promise((next) => {
        news = next;
      });
    }
  };
  await shows("bench>");
  return {
    async say(message) {
      text = "";
      const begin = process.hrtime.bigint();
      child.stdin.write(`${message}\n`);
      await shows("echo:");
      const took = Number(process.hrtime.bigint() - begin) / 1e6;
      await shows("bench>");
      return took;
    },
    leave() {
      const ended = new Promise((next) => child.once("exit", next));
      child.stdin.end("/exit\n");
      return ended;
    },
  };
}

/** Opens an `ssh -L` tunnel, as a user without clm would. */
async function openTunnel(setting) {
  const port = await freePort();
  const words = sshTrue(setting).slice(1, -1);
  const ssh = start("ssh", ["-N", "-L", `127.0.0.1:${port}:127.0.0.1:8642`, ...words], { stdio: "ignore" });
  while (!(await isOpen(port))) await new Promise((next) => setTimeout(next, 2));
  return {
    port,
    close() {
      const ended = new Promise((next) => ssh.once("exit", next));
      ssh.kill();
      return ended;
    },
  };
}

function curl(key, { port }) {
  const body = JSON.stringify({ model: "hermes-agent", stream: true, messages: [{ role: "user", content: "hello" }] });
  const words = ["curl", "-sN", "-H", "@-", "-H", "Content-Type: application/json", "-d", body];
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  return firstByte([...words, url], {}, { input: key, until: '"content": "' });
}

async function sshAndCurl(setting, key) {
  const begin = process.hrtime.bigint();
  const tunnel = await openTunnel(setting);
  const opened = Number(process.hrtime.bigint() - begin) / 1e6;
  const took = await curl(key, tunnel);
  await tunnel.close();
  return opened + took;
}

const isOpen = (port) =>
  new Promise((told) => {
    const socket = connect(port, "127.0.0.1", () => told(true) || socket.destroy()).once("error", () => told(false));
  });

/** Milliseconds until the first byte on stdout, or until it contains `until`; waits for the command to end. */
function firstByte([program, ...args], env, { input = "", until = "" } = {}) {
  const begin = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const child = start(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
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
