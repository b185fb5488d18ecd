import { type Completion, completionFrom, failureIn, textOf } from "../agents/chat/completion.js";
import { eventReader } from "../agents/chat/events.js";
import { tokensInBytes } from "../agents/tokens.js";
import type { Tokens } from "./call.js";

/** Reads along what passes: how many tokens it took, and whether it is the answer it seems to be. */
export interface Tap {
  push(chunk: Buffer): void;
  /** The answer has said its last word; what follows adds nothing to it. */
  readonly over: boolean;
  /** As they were told, or by the length of what was said. */
  tokens(input: number): Tokens;
  /** Why it is no answer, though it looks like one. */
  failure(headers: Record<string, string>, failures: readonly string[]): string | undefined;
}

/** The members that name tokens, of chat completions and of responses. */
interface Usage {
  prompt_tokens?: unknown;
  completion_tokens?: unknown;
  input_tokens?: unknown;
  output_tokens?: unknown;
}

interface Said extends Completion {
  type?: unknown;
  delta?: unknown;
  response?: { usage?: Usage };
}

/** Nothing when it was not told: zero is what agents say that do not know. */
export function tokensTold(usage: Usage | null | undefined): Tokens | undefined {
  const input = usage?.prompt_tokens ?? usage?.input_tokens;
  const output = usage?.completion_tokens ?? usage?.output_tokens ?? 0;
  return isCount(input) && isCount(output) && input + output > 0 ? { input, output } : undefined;
}

/** An agent may say anything; what no call can come to would make nonsense of every sum that it is part of. */
const isCount = (told: unknown): told is number => Number.isInteger(told) && Number(told) >= 0 && Number(told) <= 1e9;

const estimated = (input: number, bytes: number): Tokens => ({ input, output: tokensInBytes(bytes), estimated: true });

// The texts of failures are told by how they begin.
const beginning = 400;

/** For server-sent events, wherever they are cut into chunks. */
export function streamTap(): Tap {
  const decoder = new TextDecoder();
  let told: Tokens | undefined;
  let bytes = 0;
  let text = "";
  let finish: unknown;
  let last: Completion = {};
  let over = false;
  let useful = true;

  const say = (piece: string) => {
    bytes += Buffer.byteLength(piece);
    if (text.length < beginning) text += piece.slice(0, beginning);
  };
  const events = eventReader(({ data }) => {
    if (data === "[DONE]") {
      over = true;
      return;
    }
    const said = completionFrom(data) as Said | undefined;
    if (!said) return;
    told = tokensTold(said.usage ?? said.response?.usage) ?? told;
    if (typeof said.type === "string") {
      if (said.type.endsWith(".delta") && typeof said.delta === "string") say(said.delta);
      if (said.type === "response.completed") finish = "stop";
      if (lastWords.has(said.type)) over = true;
    }
    if (said.hermes || said.error) last = { ...last, ...said };
    const choice = firstOf(said);
    if (choice?.finish_reason) finish = choice.finish_reason;
    if (choice?.delta) say(textOf(choice.delta.content));
  });

  return {
    push(chunk) {
      if (useful) useful = events.push(decoder.decode(chunk, { stream: true }));
    },
    get over() {
      return over;
    },
    tokens: (input) => told ?? estimated(input, bytes),
    failure: (headers, failures) =>
      text === "" ? undefined : failureIn({ text, finish, headers, said: last, failures }),
  };
}

const lastWords = new Set<string>(["response.completed", "response.failed", "response.incomplete"]);

/** For an answer that came whole. */
export function plainTap(body: Buffer): Omit<Tap, "push" | "over"> & { told: Tokens | undefined } {
  const text = body.toString("utf8");
  const said = completionFrom(text);
  const told = tokensTold(said?.usage);
  return {
    told,
    tokens: (input) => told ?? estimated(input, spokenIn(said, text)),
    failure(headers, failures) {
      const choice = said && firstOf(said);
      // Only chat completions tell their failures as answers.
      if (!said || !choice?.message) return undefined;
      // An answer that only calls tools says nothing, and is one.
      const called = (choice.message as { tool_calls?: unknown }).tool_calls;
      if (Array.isArray(called) && called.length > 0) return undefined;
      const content = textOf(choice.message.content);
      return failureIn({ text: content, finish: choice.finish_reason, headers, said, failures });
    },
  };
}

const firstOf = ({ choices }: Completion) => (Array.isArray(choices) ? choices[0] : undefined);

function spokenIn(said: Completion | undefined, text: string): number {
  const content = said?.choices?.[0]?.message?.content;
  return Buffer.byteLength(content === undefined ? text : textOf(content));
}
