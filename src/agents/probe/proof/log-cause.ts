import { fill } from "../../files/template.js";
import type { LogCause } from "../../manifest/manifest.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Proof, ProofId } from "./proof.js";

/** Explains the first failed proof by the log. `words` are its lines since the start or, for chat, the question. */
export function withLogCause(agent: ResolvedAgent, proofs: Proof[], words: string[]): Proof[] {
  const at = proofs.findIndex(({ result }) => result === "fail");
  const failed = proofs[at];
  // The proofs of the port and of the keys explain themselves.
  if (!failed || !unexplained(failed)) return proofs;
  // The text of the failure itself comes before other lines of the log.
  const own = failed.id === "chat" ? logCauseOf(agent, [failed.reason], failed.id) : undefined;
  const cause = own ?? logCauseOf(agent, words, failed.id);
  const last = explainsItself(failed) ? undefined : lastWord(agent, words);
  const reason = cause?.reason ?? (last && `its last output: ${brief(last)}`);
  if (!reason) return proofs;
  const fix = cause && remedyFor(cause, agent);
  return proofs.with(at, { ...failed, reason: `${failed.reason}; ${reason}`, ...(fix && { fix }) });
}

/** The last line of its log; undefined when it was stopped on purpose. */
function lastWord({ unit, manifest }: ResolvedAgent, words: string[]): string | undefined {
  // Wrong keys of our own probes, and systemd's accounting.
  const { models } = manifest.api;
  const isNoise = (line: string) =>
    line.trim() === "" || (models !== undefined && line.includes(models)) || line.startsWith(`${unit}: `);
  const last = words.filter((line) => !isNoise(line)).at(-1);
  return last?.startsWith("Stopped ") ? undefined : last;
}

const unexplained = ({ id, cause }: Proof): boolean =>
  ["unit", "steady", "health", "chat", "channels"].includes(id) || cause === "no-listener";

/** Its reason already has the provider's or the channel's own message. */
const explainsItself = ({ id, cause }: Proof): boolean => id === "channels" || (id === "chat" && cause !== "no-answer");

/** Whether the log has a cause of the failed proof for which waiting does not help. */
export function isFinalLogCause(agent: ResolvedAgent, words: string[], proofs: Proof[]): boolean {
  return logCauseOf(agent, words, proofs.find(({ result }) => result === "fail")?.id)?.final === true;
}

/** The first matching cause that names the proof, if any; in a manifest, specific causes come before vague ones. */
export function logCauseOf(
  { manifest }: Pick<ResolvedAgent, "manifest">,
  words: string[],
  id?: ProofId,
): LogCause | undefined {
  return manifest.causes.find(({ pattern, proofs }) => {
    if (id && proofs && !proofs.includes(id)) return false;
    const expression = new RegExp(pattern, "u");
    return words.some((line) => expression.test(line));
  });
}

export const remedyFor = ({ next }: LogCause, { ref, host, port }: ResolvedAgent): string | undefined =>
  next && fill(next, { name: ref, host, port });
