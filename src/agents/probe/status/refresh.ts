import { isDeepStrictEqual } from "node:util";
import { busyBetween, type StatusObservation } from "./observation.js";
import { reachTroubles } from "./troubles.js";

/**
 * A whole look brought up to date by a short one; nothing when the short one saw anything that the whole one did not: then
 * what was proven need not hold any more. The same process that has the port alone still answers the key it answered.
 */
export function refreshStatus(whole: StatusObservation, glance: StatusObservation): StatusObservation | undefined {
  if (!isDeepStrictEqual(mattersIn(whole), mattersIn(glance))) return undefined;
  if ((glance.basics.age ?? 0) < (whole.basics.age ?? 0)) return undefined;
  const { basics: seen, memory, free, use, reach, others } = glance;
  const busy = whole.use && use && busyBetween([whole.use.at, whole.use.work], [use.at, use.work]);
  const { busy: _, ...rest } = whole;
  return {
    ...rest,
    basics: { ...whole.basics, ...(seen.age !== undefined && { age: seen.age }) },
    ...(memory !== undefined && { memory }),
    ...(free !== undefined && { free }),
    ...(use && { use }),
    ...(reach && { reach }),
    ...(others && { others }),
    ...(busy !== undefined && { busy }),
  };
}

const mattersIn = ({ basics: seen, channels, full, touched, strays, ...observation }: StatusObservation) => ({
  ...{ account: seen.account, unit: seen.unit, listeners: seen.listeners, health: seen.answers.health },
  openPorts: seen.openPorts,
  ...{ channels, full, touched, strays, reach: reachTroubles(observation) },
});
