import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { judge, minUptimeSeconds, restartsOf, times } from "../proof/judge.js";
import { withLogCause } from "../proof/log-cause.js";
import type { Proof, ProofId } from "../proof/proof.js";
import type { StatusObservation } from "./observation.js";
import {
  type Intent,
  isDownAsIntended,
  isStarting,
  type KeyTrouble,
  reachTroubles,
  runtimeTrouble,
  strayTrouble,
  withKeyTrouble,
} from "./troubles.js";

export type State =
  /** Answers its own key and no other, without any problem. */
  | "running"
  /** The same, with a problem. */
  | "degraded"
  | "starting"
  | "stopped"
  /** It should answer and does not. */
  | "failed"
  /** It answers without its key, or elsewhere than on the loopback. */
  | "exposed"
  /** Its account or its unit does not exist. */
  | "gone"
  /** Its host does not answer. */
  | "unreachable";

export interface Judgement {
  state: State;
  /** Why it is not simply running. */
  reason?: string;
  /** It is stopped, and processes of it still run outside its unit. */
  strays?: boolean;
  proofs: Proof[];
}

export interface ExpectedStatus {
  wanted?: Intent;
  /** Differences from the configuration, or why they are unknown. */
  drift?: { what: string; reason?: string }[] | { unknown: string };
  /** The recorded failure of the last question to its model. */
  unanswered?: string | undefined;
  key?: KeyTrouble | undefined;
  /** An operation on it that did not finish. */
  unfinished?: string | undefined;
}

/** It is `running` only when it would answer a client with its key. */
export function judgeStatus(
  agent: ResolvedAgent,
  observation: StatusObservation,
  expected: ExpectedStatus = {},
): Judgement {
  const { wanted = "run", unfinished } = expected;
  const standing = byWhatWasSeen(agent, observation, { ...expected, wanted });
  if (!unfinished) return standing;
  const { state, reason, proofs, strays } = standing;
  const worse = state === "running" ? "degraded" : isAsIntended({ state, wanted }) ? "failed" : state;
  return { state: worse, reason: [unfinished, reason].filter(Boolean).join("; "), proofs, ...(strays && { strays }) };
}

function byWhatWasSeen(
  agent: ResolvedAgent,
  observation: StatusObservation,
  expected: ExpectedStatus & { wanted: Intent },
): Judgement {
  const { basics: seen } = observation;
  const { wanted, key } = expected;
  const judged = withKeyTrouble(agent, seen, judge(agent, seen, { noChat: "costs tokens" }), key);
  const proofs = withLogCause(agent, judged, observation.words);
  const failed = (...ids: ProofId[]) => proofs.find(({ id, result }) => ids.includes(id) && result === "fail");
  const { LoadState, ActiveState = "", SubState = "" } = seen.unit;
  const as = (state: State, reason?: string): Judgement => ({ state, proofs, ...(reason && { reason }) });

  if (!seen.account) return as("gone", failed("version")?.reason);
  if (LoadState === "not-found") return as("gone", `there is no unit ${agent.unit}`);
  if (LoadState === "masked") return as("gone", `${agent.unit} is masked`);
  const open = seen.listeners.some(({ own }) => own) && failed("port");
  if (open && seen.listeners.every(({ own }) => own)) return as("exposed", open.reason);
  const reachable = failed("listeners");
  if (reachable) return as("exposed", reachable.reason);
  if (seen.answers.none === 200 || seen.answers.wrong === 200)
    return as("exposed", failed("auth.no-key", "auth.wrong-key")?.reason);
  if (ActiveState === "inactive" || isDownAsIntended(seen, wanted)) {
    const strays = strayTrouble(agent, observation);
    const why = [whyStopped(agent, wanted, failed("port")), strays].filter(Boolean).join("; ");
    return { ...as("stopped", why), ...(strays && { strays: true }) };
  }
  if (ActiveState === "failed") return as("failed", failed("unit")?.reason);
  const endsOften = restartsOf(seen) > 1 && (seen.age ?? 0) < minUptimeSeconds;
  if (SubState === "auto-restart" || (ActiveState === "activating" && seen.age === undefined)) {
    const often = endsOften ? "it ends again and again" : "it ended and is being started again";
    return as("failed", `${often}: ${failed("unit")?.reason}`);
  }
  const silent = failed("port", "health", "auth.own-key", "auth.no-key", "auth.wrong-key");
  if (silent && isStarting(agent, seen)) return as("starting", silent.reason);
  if (silent) return as("failed", endsOften ? `it ends again and again: ${silent.reason}` : silent.reason);
  const amiss = amissIn(agent, observation, proofs, expected);
  return amiss.length > 0 ? as("degraded", amiss.join("; ")) : as("running");
}

/** Problems of an agent that answers. A recent start is one only after a restart. */
function amissIn(
  agent: ResolvedAgent,
  observation: StatusObservation,
  proofs: Proof[],
  expected: ExpectedStatus,
): string[] {
  const { basics: seen, full } = observation;
  const { wanted, drift = [], unanswered, key } = expected;
  const again = (id: ProofId) => id === "steady" && restartsOf(seen) > 0 && (seen.age ?? 0) < minUptimeSeconds;
  const unproven = proofs.filter(
    ({ id, result }) => result === "warn" || (result === "fail" && (id !== "steady" || again(id))),
  );
  const differs = "unknown" in drift ? [] : drift;
  // A wrong version is a failed proof, and a difference, too.
  const unreported = differs.filter(({ reason }) => !unproven.some((proof) => proof.reason === reason));
  const problems = [
    ...unproven.map(({ id, reason }) => (again(id) ? `${reason}, restarted ${times(restartsOf(seen))}` : reason)),
    full === "blocks" && "its disk is full",
    full === "inodes" && "its disk has no inodes left",
    ...reachTroubles(observation),
    runtimeTrouble(agent, observation),
    strayTrouble(agent, observation),
    unanswered,
    key === "changing" && "a change of its key is not finished",
    wanted === "rest" && differs.length === 0 && "it runs, though clm stopped it",
    unreported.length > 0 && `not as configured: ${unreported.map(({ what }) => what).join(", ")}`,
    "unknown" in drift && `drift is unknown: ${drift.unknown}`,
  ];
  return problems.filter((problem) => typeof problem === "string");
}

/** Needs no action. */
export const isAsIntended = ({ state, wanted, strays }: { state: State; wanted: Intent; strays?: boolean }): boolean =>
  state === "running" || (state === "stopped" && wanted !== "run" && !strays);

/** Also names a process that holds its port. */
function whyStopped({ ref }: ResolvedAgent, wanted: Intent, port: Proof | undefined): string {
  const why = {
    run: `stopped, though it was not clm that stopped it; clm agent start ${ref}`,
    rest: "",
    nothing: `not configured yet; clm agent configure ${ref}`,
  }[wanted];
  return [why, port && port.cause !== "no-listener" ? port.reason : ""].filter((text) => text !== "").join("; ");
}
