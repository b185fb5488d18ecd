import { completionFrom, errorText, failureIn, textOf } from "../../chat/completion.js";
import { failureForms } from "../../chat/failure-forms.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Observation } from "./observation.js";
import type { Proof } from "./proof.js";

/** Whether an answer is an answer. */
export function judgeChat(
  agent: ResolvedAgent,
  { status, headers, body }: NonNullable<Observation["chat"]>,
): Omit<Proof, "id"> {
  const fail = (reason: string): Omit<Proof, "id"> => ({
    result: "fail",
    reason: `no answer from the model: ${reason}`,
    fix: `clm agent configure ${agent.ref} --stage providers`,
  });
  const said = completionFrom(body);
  if (status === 0) return { ...fail("the agent gave no answer"), cause: "no-answer" };
  if (status !== 200) return fail(`HTTP ${status}${said ? `: ${brief(errorText(said) || body)}` : ""}`);
  const [choice] = said?.choices ?? [];
  if (!said || !choice) return fail("what came back is not a completion");
  const text = textOf(choice.message?.content);
  const { finish_reason: finish } = choice;
  const forms = failureForms(agent.manifest);
  const failure = failureIn({ text, finish, headers, said, usage: said.usage, forms });
  if (failure !== undefined) return fail(brief(failure.text));
  return { result: "ok", reason: `the model answered: ${brief(text.trim(), 60)}` };
}
