import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { flood } from "./load.mjs";

/** What a gateway that has done nothing else holds after some requests, and after ten times as many. */
export async function memory(pid, callers, { few, many, looks }) {
  await flood(callers, { count: few });
  const before = await settled(pid, looks);
  await flood(callers, { count: many - few });
  const after = await settled(pid, looks);
  for (const caller of callers) caller.close();
  const megabytes = (kilobytes) => `${(kilobytes / 1024).toFixed(1)} MB`;
  return {
    ...{ what: `gateway, memory after ${many} requests`, told: megabytes(after) },
    ...{ against: `after ${few}`, peerTold: megabytes(before), ratio: `${(after / before).toFixed(2)} x` },
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
