import { completionFrom, errorText } from "../../chat/completion.js";
import type { ChatDialect } from "../../chat/dialect.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Observation } from "./observation.js";
import type { Proof } from "./proof.js";

export function judgeChat(
  agent: ResolvedAgent,
  chat: ChatDialect,
  { status, headers, body }: NonNullable<Observation["chat"]>,
): Omit<Proof, "id"> {
  const fail = (reason: string): Omit<Proof, "id"> => ({
    result: "fail",
    reason: `no answer from the model: ${reason}`,
    fix: `clm agent configure ${agent.ref} --stage providers`,
  });
  if (status === 0) return { ...fail("the agent gave no answer"), cause: "no-answer" };
  if (status !== 200) {
    const said = completionFrom(body);
    return fail(`HTTP ${status}${said ? `: ${brief(errorText(said) || body)}` : ""}`);
  }
  const reader = chat.reader(agent, { streams: false, headers, onPiece() {} });
  reader.push(Buffer.from(body));
  const { text, failure } = reader.end();
  if (failure) return fail(brief(failure.text));
  return { result: "ok", reason: `the model answered: ${brief(text.trim(), 60)}` };
}
