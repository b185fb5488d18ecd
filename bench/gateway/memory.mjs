import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "../measure.mjs";
import { flood } from "./load.mjs";

const stages = 10;

/**
 * The gateway's memory, measured ten times during many requests. A single measurement depends on the last garbage
 * collection, so the first ones are compared with the last ones.
 */
export async function memory(pid, callers, { many, looks }) {
  const seen = [];
  for (let stage = 0; stage < stages; stage++) {
    await flood(callers, { count: many / stages });
    seen.push(await settled(pid, looks));
  }
  for (const caller of callers) caller.close();
  const [before, after] = [median(seen.slice(0, 3)), median(seen.slice(-3))];
  const megabytes = (kilobytes) => `${(kilobytes / 1024).toFixed(1)} MB`;
  return {
    what: `gateway, memory after ${many} requests`,
    told: megabytes(after),
    against: `after ${(many / stages) * 2}`,
    peerTold: megabytes(before),
    ratio: `${(after / before).toFixed(2)} x`,
    goal: "<= 1.15 x",
    met: after / before <= 1.15,
  };
}

/** Kilobytes after a pause, in which the process can free memory. */
async function settled(pid, looks) {
  const seen = [];
  for (let look = 0; look < looks; look++) {
    await pause(500);
    seen.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]));
  }
  return Math.min(...seen);
}
