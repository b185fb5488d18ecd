import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { start } from "../../scripts/stoppable.mjs";
import { agentsInPlace, onLab, sshTrue } from "../lab.mjs";
import { clm, median } from "../measure.mjs";
import { sized } from "../size.mjs";

const lab = { name: "benchlogs", hosts: 1 };
const what = "logs -f, from host to screen";
const against = "ssh host tail -F";
const file = "/home/bench/.hermes/logs/agent.log";
const rounds = sized(40, 2);

/** The delay of a log line from host to screen, through `clm agent logs -f` and tail over OpenSSH at the same time. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages())
    return [{ what, against, goal: "-", note: "skipped: lab hosts need root" }];
  return onLab(lab, async (setting) => {
    const { env } = setting;
    agentsInPlace(setting);
    // The interval that clm gives to tail where there is no inotify, as on a lab host.
    const tail = [...sshTrue(setting).slice(0, -1), `sudo tail -s 0.05 -n 0 -F ${file}`];
    const listeners = [[...clm, "agent", "logs", "bench", "-f", "--lines", "0"], tail].map((command) =>
      listen(command, env),
    );
    const writer = start(
      clm[0],
      [
        ...clm.slice(1),
        "lab",
        "exec",
        setting.fleet[0].name,
        "--",
        "/bin/sh",
        "-c",
        `while read -r line; do echo "$line" >>${file}; done`,
      ],
      { env: { ...process.env, ...env } },
    );
    const write = (line) =>
      writer.stdin.write(
        `${new Date().toISOString().slice(0, 23).replace("T", " ").replace(".", ",")} INFO bench: ${line}\n`,
      );
    try {
      await ready(listeners, write);
      const delays = listeners.map(() => []);
      for (let round = 0; round < rounds; round++) {
        const word = `round-${round}-end`;
        const begin = performance.now();
        const seen = listeners.map((listener, at) =>
          listener.shown(word).then(() => delays[at].push(performance.now() - begin)),
        );
        write(word);
        await Promise.all(seen);
        await pause(30 + Math.random() * 60);
      }
      const [ms, peerMs] = delays.map(median);
      return [{ what, ms, against, peerMs, ratio: `${(ms / peerMs).toFixed(2)} x`, goal: "-" }];
    } finally {
      for (const { child } of listeners) child.kill();
      writer.stdin.end();
    }
  });
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until both listeners receive new lines. */
async function ready(listeners, write) {
  for (let at = 0; ; at++) {
    if (at === 100) throw new Error("the listeners receive no lines");
    const word = `ready-${at}-end`;
    const heard = Promise.all(listeners.map((listener) => listener.shown(word)));
    write(word);
    if (await Promise.race([heard.then(() => true), pause(500)])) return;
  }
}

function listen([program, ...args], env) {
  const child = start(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  const waiting = new Map();
  let rest = "";
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) for (const [word, seen] of waiting) if (line.includes(word)) seen();
  });
  return { child, shown: (word) => new Promise((seen) => waiting.set(word, seen)) };
}
