import type { Check } from "../check.js";
import type { LogCause } from "../manifest/manifest.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { brief, span } from "../probe/proof/judge.js";
import { logCauseOf, remedyFor } from "../probe/proof/log-cause.js";
import type { LogLine } from "./symptoms.js";

/** A cause of the manifest that matched the log, with the last matching line. */
export interface RecognisedCause {
  cause: LogCause;
  last: LogLine;
}

/** Of each line only the first cause that matches. */
export function recognise(agent: Pick<ResolvedAgent, "manifest">, words: readonly LogLine[]): RecognisedCause[] {
  const found = new Map<string, RecognisedCause>();
  for (const word of words) {
    // The agent logs the wrong keys of our own probes.
    const { models } = agent.manifest.api;
    if (models && word.text.includes(models)) continue;
    const cause = logCauseOf(agent, [word.text]);
    if (cause) found.set(cause.id, { cause, last: word });
  }
  return [...found.values()];
}

export interface CurrentState {
  /** Milliseconds since 1970, by the host's clock: the lines are by it too. */
  at: number;
  checks: readonly Check[];
  /** When all proofs last passed, and whether the model answered. */
  proven?: { at: number; chat: boolean } | undefined;
}

/** Milliseconds for which a past problem is reported. */
const lately = 3_600_000;

/**
 * The meaning of a log line now. If another check sees the same problem, this is its cause and a failure. If that check
 * passes, the problem is over, and reported as ok for an hour. If no check sees it, it counts until the next proof.
 */
export function judgeCauses(agent: ResolvedAgent, recognised: readonly RecognisedCause[], now: CurrentState): Check[] {
  return recognised.flatMap(({ cause, last }): Check[] => {
    if (now.proven && isDisproven(cause, last, now.proven)) return [];
    const seenBy = seenNow(cause, now.checks);
    const right = seenBy.length > 0 && !seenBy.some(({ result }) => result === "fail" || result === "warn");
    const age = Math.max(0, now.at - last.at);
    if (age > lately && (right || passesByItself(cause))) return [];
    const [id, said] = [`log.${cause.id}`, `${cause.reason} (${span(age / 1000)} ago: ${brief(last.text, 120)})`];
    if (right) return [{ id, result: "ok", reason: `has passed: ${said}` }];
    const fix = remedyFor(cause, agent);
    return [{ id, result: cause.mild ? "warn" : "fail", reason: said, ...(fix && { fix }) }];
  });
}

/** A passing error of the model's provider. */
const passesByItself = ({ mild, proofs = [] }: LogCause): boolean => mild && proofs.includes("chat");

/** A later proof of the agent passed; it counts for the model only if that was asked. */
const isDisproven = ({ proofs }: LogCause, { at }: LogLine, proven: NonNullable<CurrentState["proven"]>): boolean =>
  at < proven.at && (proven.chat || !proofs?.includes("chat"));

/** The checks that see the same problem, without those that were skipped. */
function seenNow({ checks, proofs = [] }: LogCause, seen: readonly Check[]): Check[] {
  const ids: readonly string[] = checks ?? proofs.filter((id) => id !== "chat");
  return seen.filter(({ id, result }) => ids.includes(id) && result !== "skipped");
}
