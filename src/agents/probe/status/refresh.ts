import { isDeepStrictEqual } from "node:util";
import { defined } from "../../../text/defined.js";
import { busyBetween, type StatusObservation } from "./observation.js";
import { reachTroubles } from "./troubles.js";

/**
 * A full observation updated by a quick one; undefined when the quick one differs, because the proofs may not hold any
 * more. As long as the same process holds the port alone, it accepts the key it accepted before.
 */
export function refreshStatus(full: StatusObservation, quick: StatusObservation): StatusObservation | undefined {
  if (!isDeepStrictEqual(comparable(full), comparable(quick))) return undefined;
  if ((quick.basics.age ?? 0) < (full.basics.age ?? 0)) return undefined;
  const { basics, memory, space, use, reach, others } = quick;
  const busy = full.use && use && busyBetween([full.use.at, full.use.work], [use.at, use.work]);
  const { busy: _, ...rest } = full;
  return {
    ...rest,
    basics: { ...full.basics, ...defined({ age: basics.age }) },
    ...defined({ memory, space, use, reach, others, busy }),
  };
}

const comparable = ({ basics, channels, full, touched, strays, ...observation }: StatusObservation) => {
  const { account, unit, listeners, answers, openPorts } = basics;
  const health = answers.health;
  return {
    account,
    unit,
    listeners,
    health,
    openPorts,
    channels,
    full,
    touched,
    strays,
    reach: reachTroubles(observation),
  };
};
