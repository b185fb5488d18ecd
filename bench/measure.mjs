import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { sized, smoke } from "./size.mjs";

export const clm = ["node", join(process.env.CLM_DIST ?? "dist", "clm.js")];

/** Runs a command and returns its milliseconds; throws when it fails. */
export function time([program, ...args], env = {}) {
  const begin = process.hrtime.bigint();
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  const took = Number(process.hrtime.bigint() - begin) / 1e6;
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr || stdout}`);
  return took;
}

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Runs the commands in turn, so that other load on the machine affects all of them; returns each one's median. */
export function race(commands, rounds, env = {}) {
  const times = commands.map(() => []);
  if (!smoke) for (const command of commands) time(command, env);
  for (let round = 0; round < sized(rounds, 1); round++) {
    for (const [at, command] of commands.entries()) times[at].push(time(command, env));
  }
  return times.map(median);
}

/** A row in which clm must take at most `most` times as long as the peer. */
export function atMost(what, ms, against, peerMs, most) {
  const ratio = ms / peerMs;
  return { what, ms, against, peerMs, ratio: `${ratio.toFixed(2)} x`, goal: `<= ${most} x`, met: ratio <= most };
}

/** A row in which clm must be at least `least` times as fast as the peer. */
export function faster(what, ms, against, peerMs, least) {
  const ratio = peerMs / ms;
  return {
    what,
    ms,
    against,
    peerMs,
    ratio: `${ratio.toFixed(1)} x faster`,
    goal: `>= ${least} x faster`,
    met: ratio >= least,
  };
}

/** A free port on this machine. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
