import type { Subject } from "../subject.js";
import { brief } from "./judge.js";
import type { Proof } from "./proof.js";
import type { Seen } from "./seen.js";

interface Completion {
  choices?: { finish_reason?: unknown; message?: { content?: unknown } }[];
  hermes?: { failed?: unknown; completed?: unknown; error?: unknown };
  error?: { message?: unknown } | string;
}

/**
 * Whether an answer is an answer. A call that failed is told as one with HTTP 200 at every version (seen live): the older
 * ones give only the text away, later ones a finish_reason, a `hermes` member and headers.
 */
export function judgeChat(subject: Subject, { status, headers, body }: NonNullable<Seen["chat"]>): Omit<Proof, "id"> {
  const { failures } = subject.manifest.api.chat;
  const fail = (reason: string): Omit<Proof, "id"> => ({
    result: "fail",
    reason: `no answer from the model: ${reason}`,
    fix: `clm agent configure ${subject.word} --stage providers`,
  });
  const said = completionFrom(body);
  if (status === 0) return fail("the agent gave no answer");
  if (status !== 200) return fail(`HTTP ${status}${said ? `: ${brief(errorText(said) || body)}` : ""}`);
  const [choice] = said?.choices ?? [];
  if (!said || !choice) return fail("what came back is not a completion");
  const text = textOf(choice.message?.content).trim();
  const why = brief(errorText(said) || headers["x-hermes-error"] || text || "it does not say why");
  if (choice.finish_reason === "error") return fail(why);
  if (said.hermes?.failed === true) return fail(why);
  // An answer cut at its length is an answer, and not a completed one.
  if (headers["x-hermes-completed"] === "false" && choice.finish_reason !== "length") return fail(why);
  if (text === "") return fail("it is empty");
  const told = failures.find((start) => text.startsWith(start));
  if (told) return fail(brief(text));
  return { result: "ok", reason: `the model answered: ${brief(text, 60)}` };
}

function completionFrom(body: string): Completion | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function errorText({ error, hermes }: Completion): string {
  const texts = [hermes?.error, typeof error === "object" ? error?.message : error];
  return texts.find((text): text is string => typeof text === "string" && text !== "") ?? "";
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}
