import { judge, restartsOf } from "../proof/judge.js";
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

export interface Standing {
  state: State;
  /** Why it is not simply running. */
  reason?: string;
  proofs: Proof[];
}

/** How an agent is, by what was seen. It is `running` only when it would answer whoever has its key. */
export function standingOf(subject: Subject, sight: Sight, drift: string[] = []): Standing {
  const { seen } = sight;
  const proofs = judge(subject, seen, { noChat: "costs tokens" });
  const failed = (...ids: ProofId[]) => proofs.find(({ id, result }) => ids.includes(id) && result === "fail");
  const { LoadState, ActiveState = "", SubState = "" } = seen.unit;
  const as = (state: State, reason?: string): Standing => ({ state, proofs, ...(reason && { reason }) });

  if (!seen.account) return as("gone", failed("version")?.reason);
  if (LoadState === "not-found" || LoadState === "masked") return as("gone", unitReason(subject, LoadState));
  const open = seen.listeners.some(({ own }) => own) && failed("port");
  if (open && seen.listeners.every(({ own }) => own)) return as("exposed", open.reason);
  if (seen.answers.none === 200 || seen.answers.wrong === 200)
    return as("exposed", failed("gate.none", "gate.wrong")?.reason);
  if (ActiveState === "inactive") return as("stopped", restOf(failed("port"), "nothing"));
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
  const amiss = troubles(
    sight,
    proofs.filter(({ id, result }) => result === "warn" || (result === "fail" && (id === "version" || id === "files"))),
    drift,
  );
  return amiss.length > 0 ? as("degraded", amiss.join("; ")) : as("running");
}

const unitReason = ({ unit }: Subject, load: string): string =>
  load === "masked" ? `${unit} is masked` : `there is no unit ${unit}`;

/** Who has the port of an agent that is stopped; that nobody has it needs no telling. */
const restOf = (proof: Proof | undefined, unless: string): string | undefined =>
  proof && !proof.reason.startsWith(unless) ? proof.reason : undefined;

function troubles({ full, reach, channels }: Sight, proofs: Proof[], drift: string[]): string[] {
  const off = Object.entries(channels).filter(([, { state }]) => state !== "connected");
  return [
    ...proofs.map(({ reason }) => reason),
    ...(full ? [full === "blocks" ? "its disk is full" : "its disk has no inodes left"] : []),
    ...reachTroubles(reach),
    ...off.map(([name, { state, error }]) => `${name} is ${state}${error ? `: ${error}` : ""}`),
    ...(drift.length > 0 ? [`not as configured: ${drift.join(", ")}`] : []),
  ];
}

function reachTroubles(reach: Sight["reach"]): string[] {
  if (!reach) return [];
  if ("trouble" in reach) return [`its provider cannot be reached from the host: ${reach.trouble}`];
  return reach.status >= 500 ? [`its provider answers ${reach.status}`] : [];
}
