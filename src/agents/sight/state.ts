import { withCause } from "../proof/cause.js";
import { brief, judge, restartsOf, settled, times } from "../proof/judge.js";
import type { Proof, ProofId } from "../proof/proof.js";
import type { Subject } from "../subject.js";
import type { Sight } from "./sight.js";

/** How an agent is, in one word. */
export const states = [
  /** Answers its own key and nobody else's, and nothing is amiss. */
  "running",
  /** The same, and something is amiss. */
  "degraded",
  "starting",
  "stopped",
  /** It should answer and does not. */
  "failed",
  /** It answers others than who has its key, or elsewhere than on the loopback. */
  "exposed",
  /** Its account or its unit is not there. */
  "gone",
  /** Its host cannot be asked. */
  "unreachable",
] as const;
export type State = (typeof states)[number];

/** What is wanted of an agent: `rest` when clm stopped it, `nothing` when it is not configured yet. */
export type Wanted = "run" | "rest" | "nothing";

export interface Standing {
  state: State;
  /** Why it is not simply running. */
  reason?: string;
  proofs: Proof[];
}

export interface Expected {
  wanted?: Wanted;
  /** What is not as configured. */
  drift?: string[];
}

/** How an agent is, by what was seen. It is `running` only when it would answer whoever has its key. */
export function standingOf(subject: Subject, sight: Sight, { wanted = "run", drift = [] }: Expected = {}): Standing {
  const { seen } = sight;
  const proofs = withCause(subject, judge(subject, seen, { noChat: "costs tokens" }), sight.words);
  const failed = (...ids: ProofId[]) => proofs.find(({ id, result }) => ids.includes(id) && result === "fail");
  const { LoadState, ActiveState = "", SubState = "" } = seen.unit;
  const as = (state: State, reason?: string): Standing => ({ state, proofs, ...(reason && { reason }) });

  if (!seen.account) return as("gone", failed("version")?.reason);
  if (LoadState === "not-found" || LoadState === "masked") return as("gone", unitReason(subject, LoadState));
  const open = seen.listeners.some(({ own }) => own) && failed("port");
  if (open && seen.listeners.every(({ own }) => own)) return as("exposed", open.reason);
  if (seen.answers.none === 200 || seen.answers.wrong === 200)
    return as("exposed", failed("gate.none", "gate.wrong")?.reason);
  if (ActiveState === "inactive") return as("stopped", whyStopped(subject, wanted, failed("port")));
  if (ActiveState === "failed") return as("failed", failed("unit")?.reason);
  if (SubState === "auto-restart" || (ActiveState === "activating" && seen.age === undefined)) {
    const often = restartsOf(seen) > 1 ? "it ends again and again" : "it ended and is being started again";
    return as("failed", `${often}: ${failed("unit")?.reason}`);
  }
  const silent = failed("port", "health", "gate.own", "gate.none", "gate.wrong");
  if (silent) {
    const young = (seen.age ?? 0) * 1000 < subject.manifest.api.patience.start && seen.listeners.length === 0;
    return young && restartsOf(seen) === 0 ? as("starting", silent.reason) : as("failed", silent.reason);
  }
  // It answers. What is not proven in spite of that is amiss; that it began just now is only when it was not for long before.
  const again = (id: ProofId) => id === "steady" && restartsOf(seen) > 0 && (seen.age ?? 0) < settled;
  const amiss = [
    ...proofs
      .filter(({ id, result }) => result === "warn" || (result === "fail" && (id !== "steady" || again(id))))
      .map(({ id, reason }) => (again(id) ? `${reason}, restarted ${times(restartsOf(seen))}` : reason)),
    ...troubles(sight),
    ...(wanted === "rest" && drift.length === 0 ? ["it runs, though clm stopped it"] : []),
    ...(drift.length > 0 ? [`not as configured: ${drift.join(", ")}`] : []),
  ];
  return amiss.length > 0 ? as("degraded", amiss.join("; ")) : as("running");
}

/** Nobody has to do anything about it. */
export const isWell = (state: State, wanted: Wanted): boolean =>
  state === "running" || (state === "stopped" && wanted !== "run");

const unitReason = ({ unit }: Subject, load: string): string =>
  load === "masked" ? `${unit} is masked` : `there is no unit ${unit}`;

/** Also who has its port; that nobody has it needs no telling. */
function whyStopped({ word }: Subject, wanted: Wanted, port: Proof | undefined): string {
  const why = {
    run: `stopped, though it was not clm that stopped it; clm agent start ${word}`,
    rest: "",
    nothing: `not configured yet; clm agent configure ${word}`,
  }[wanted];
  return [why, port && !port.reason.startsWith("nothing") ? port.reason : ""].filter((text) => text !== "").join("; ");
}

function troubles({ full, reach, channels }: Sight): string[] {
  const off = Object.entries(channels).filter(([, { state }]) => state !== "connected");
  return [
    ...(full ? [full === "blocks" ? "its disk is full" : "its disk has no inodes left"] : []),
    ...reachTroubles(reach),
    ...off.map(([name, { state, error }]) => `${name} is ${state}${error ? `: ${brief(error)}` : ""}`),
  ];
}

function reachTroubles(reach: Sight["reach"]): string[] {
  if (!reach) return [];
  if ("trouble" in reach) return [`its provider cannot be reached from the host: ${reach.trouble}`];
  return reach.status >= 500 ? [`its provider answers ${reach.status}`] : [];
}
