import { completionFrom, errorText } from "../../chat/completion.js";
import type { ChatDialect } from "../../chat/dialect.js";
import { fail, ok } from "../../check.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Observation } from "./observation.js";
import type { ProofVerdict } from "./proof.js";

export function judgeChat(
  agent: ResolvedAgent,
  chat: ChatDialect,
  { status, headers, body }: NonNullable<Observation["chat"]>,
): ProofVerdict {
  const unanswered = (reason: string): ProofVerdict =>
    fail(`no answer from the model: ${reason}`, `clm agent configure ${agent.ref} --stage providers`);
  if (status === 0) return { ...unanswered("the agent gave no answer"), cause: "no-answer" };
  if (status !== 200) {
    const said = completionFrom(body);
    return unanswered(`HTTP ${status}${said ? `: ${brief(errorText(said) || body)}` : ""}`);
  }
  const reader = chat.reader(agent, { streams: false, headers, onPiece() {} });
  reader.push(Buffer.from(body));
  const { text, failure } = reader.end();
  if (failure) return unanswered(brief(failure.text));
  return ok(`the model answered: ${brief(text.trim(), 60)}`);
}
