import type { Check } from "../check.js";
import type { Cause } from "../manifest/manifest.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { causeOf, remedyFor } from "../probe/proof/cause.js";
import { brief, span } from "../probe/proof/judge.js";
import type { LogLine } from "./symptoms.js";

/** A cause that stands in the log, with its last line. */
export interface RecognisedCause {
  cause: Cause;
  last: LogLine;
}

/** What is recognised in what an agent said. Each line tells one thing at most: the first of the manifest that it matches. */
export function recognise(agent: Pick<ResolvedAgent, "manifest">, words: readonly LogLine[]): RecognisedCause[] {
  const found = new Map<string, RecognisedCause>();
  for (const word of words) {
    // It notes the wrong keys that we try.
    const { models } = agent.manifest.api;
    if (models && word.text.includes(models)) continue;
    const cause = causeOf(agent, [word.text]);
    if (cause) found.set(cause.id, { cause, last: word });
  }
  return [...found.values()];
}

/** What is known of an agent now, against which a line of its log is weighed. */
export interface CurrentState {
  /** Milliseconds since 1970, by the host's clock: the lines are by it too. */
  at: number;
  /** What was seen just now. */
  checks: readonly Check[];
  /** When it was last seen to be well altogether, and whether a model answered. */
  proven?: { at: number; chat: boolean } | undefined;
}

/** Milliseconds after which nobody asks any more about what has passed. */
const lately = 3_600_000;

/**
 * What a line in the log means now. What is seen to be wrong by another check is a failure and this its cause. What is seen
 * to be right has passed: for an hour whoever asks for every check is told. What nothing else sees stands until the agent is
 * proven again.
 */
export function judgeCauses(agent: ResolvedAgent, recognised: readonly RecognisedCause[], now: CurrentState): Check[] {
  return recognised.flatMap(({ cause, last }): Check[] => {
    if (now.proven && isDisproven(cause, last, now.proven)) return [];
    const seenBy = seenNow(cause, now.checks);
    const wrong = seenBy.some(({ result }) => result === "fail" || result === "warn");
    const right = seenBy.length > 0 && !wrong;
    const age = Math.max(0, now.at - last.at);
    if (age > lately && (right || passesByItself(cause))) return [];
    const [id, said] = [`log.${cause.id}`, `${cause.reason} (${span(age / 1000)} ago: ${brief(last.text, 120)})`];
    if (right) return [{ id, result: "ok", reason: `has passed: ${said}` }];
    const fix = remedyFor(cause, agent);
    return [{ id, result: cause.mild ? "warn" : "fail", reason: said, ...(fix && { fix }) }];
  });
}

/** What a model's service said once, and is over when nobody says it again. */
const passesByItself = ({ mild, proofs = [] }: Cause): boolean => mild && proofs.includes("chat");

/** A proof of the whole agent that came later; it says nothing of the model unless that was asked. */
const isDisproven = ({ proofs }: Cause, { at }: LogLine, proven: NonNullable<CurrentState["proven"]>): boolean =>
  at < proven.at && (proven.chat || !proofs?.includes("chat"));

/** The checks that see the same thing; what was skipped has seen nothing. */
function seenNow({ checks, proofs = [] }: Cause, seen: readonly Check[]): Check[] {
  const ids: readonly string[] = checks ?? proofs.filter((id) => id !== "chat");
  return seen.filter(({ id, result }) => ids.includes(id) && result !== "skipped");
}
