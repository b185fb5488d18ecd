import { fill } from "../../files/template.js";
import type { Cause } from "../../manifest/manifest.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Proof, ProofId } from "./proof.js";

/**
 * Adds to the first proof that failed what the agent itself said about it, where the manifest knows what it means. The words
 * are those since its start or, of a question to the model, since it was asked.
 */
export function withCause(agent: ResolvedAgent, proofs: Proof[], words: string[]): Proof[] {
  const at = proofs.findIndex(({ result }) => result === "fail");
  const failed = proofs[at];
  // Whoever holds the port or left the gate open has been named already.
  if (!failed || !unexplained(failed)) return proofs;
  // What the failure itself says comes before what else was logged meanwhile.
  const own = failed.id === "chat" ? causeIn(agent, [failed.reason], failed.id) : undefined;
  const cause = own ?? causeIn(agent, words, failed.id);
  const last = explainsItself(failed) ? undefined : lastWord(agent, words);
  const reason = cause?.reason ?? (last && `it last said: ${brief(last)}`);
  if (!reason) return proofs;
  const fix = cause?.next ?? failed.fix;
  return proofs.with(at, { ...failed, reason: `${failed.reason}; ${reason}`, ...(fix && { fix }) });
}

/** What the agent said last. Nothing when somebody stopped it: then there is nothing to explain. */
function lastWord({ unit, manifest }: ResolvedAgent, words: string[]): string | undefined {
  // The agent notes the wrong keys that we try, and systemd what the unit took.
  const { models } = manifest.api;
  const isNoise = (line: string) =>
    line.trim() === "" || (models !== undefined && line.includes(models)) || line.startsWith(`${unit}: `);
  const last = words.filter((line) => !isNoise(line)).at(-1);
  return last?.startsWith("Stopped ") ? undefined : last;
}

const unexplained = ({ id, cause }: Proof): boolean =>
  ["unit", "steady", "health", "chat", "channels"].includes(id) || cause === "no-listener";

/** Its reason has the words of the provider or the channel: what else the agent said last is about something else. */
const explainsItself = ({ id, cause }: Proof): boolean => id === "channels" || (id === "chat" && cause !== "no-answer");

/** Waiting is in vain: the agent said something that means so, about one of the proofs that failed. */
export function finalCause(agent: ResolvedAgent, words: string[], proofs: Proof[]): boolean {
  const failed = proofs.find(({ result }) => result === "fail");
  return causeOf(agent, words, failed?.id)?.final === true;
}

function causeIn(agent: ResolvedAgent, words: string[], id: ProofId): { reason: string; next?: string } | undefined {
  const cause = causeOf(agent, words, id);
  if (!cause) return undefined;
  const next = remedyFor(cause, agent);
  return { reason: cause.reason, ...(next && { next }) };
}

/**
 * The first cause that any line tells: the manifest has the telling ones before the vague ones. A line may be old, or about
 * something else: a cause explains only the proofs it names.
 */
export function causeOf(
  { manifest }: Pick<ResolvedAgent, "manifest">,
  words: string[],
  id?: ProofId,
): Cause | undefined {
  return manifest.causes.find(({ pattern, proofs }) => {
    if (id && proofs && !proofs.includes(id)) return false;
    const expression = new RegExp(pattern, "u");
    return words.some((line) => expression.test(line));
  });
}

/** What to do about a cause, as a command for this agent. */
export const remedyFor = ({ next }: Cause, { ref, host, port }: ResolvedAgent): string | undefined =>
  next && fill(next, { name: ref, host, port });
