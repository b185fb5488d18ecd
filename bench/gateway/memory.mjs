import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "../measure.mjs";
import { flood } from "./load.mjs";

const stages = 10;

/**
 * What a gateway holds at ten places on its way through many requests. One look says little, because it depends on when the
 * program last gave back what it does not need: those of the beginning are compared with those of the end.
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
    ...{ what: `gateway, memory after ${many} requests`, told: megabytes(after) },
    ...{
      against: `after ${(many / stages) * 2}`,
      peerTold: megabytes(before),
      ratio: `${(after / before).toFixed(2)} x`,
    },
    ...{ goal: "<= 1.15 x", met: after / before <= 1.15 },
  };
}

/** Kilobytes, when the program has had time to give back what it does not need. */
async function settled(pid, looks) {
  const seen = [];
  for (let look = 0; look < looks; look++) {
    await pause(500);
    seen.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]));
  }
  return Math.min(...seen);
}
