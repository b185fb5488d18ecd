import { type Completion, completionFrom, failureIn, textOf } from "../../agents/chat/completion.js";
import { eventReader } from "../../agents/chat/events.js";
import { tokensInBytes } from "../../agents/tokens.js";
import type { Tokens } from "../call.js";

/** Reads along what passes: how many tokens it took, and whether it is the answer it seems to be. */
export interface Tap {
  push(chunk: Buffer): void;
  /** What was said, as much of it as is kept. */
  readonly said: string;
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
function tokensTold(usage: Usage | null | undefined): Tokens | undefined {
  const input = usage?.prompt_tokens ?? usage?.input_tokens;
  const output = usage?.completion_tokens ?? usage?.output_tokens ?? 0;
  return isCount(input) && isCount(output) && input + output > 0 ? { input, output } : undefined;
}

/** An agent may say anything; what no call can come to would make nonsense of every sum that it is part of. */
const isCount = (told: unknown): told is number => Number.isInteger(told) && Number(told) >= 0 && Number(told) <= 1e9;

const estimated = (input: number, bytes: number): Tokens => ({ input, output: tokensInBytes(bytes), estimated: true });

// The texts of failures are told by how they begin.
const beginning = 400;

/** For server-sent events, wherever they are cut into chunks. Keeps so many characters of what is said. */
export function streamTap(kept = beginning): Tap {
  const decoder = new TextDecoder();
  let told: Tokens | undefined;
  let bytes = 0;
  let text = "";
  let finish: unknown;
  let last: Completion = {};
  let over = false;
  let useful = true;

  const keep = (piece: string) => {
    if (text.length < kept) text += piece.slice(0, kept - text.length);
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
      if (said.type.endsWith(".delta") && typeof said.delta === "string") {
        bytes += Buffer.byteLength(said.delta);
        keep(said.delta);
      }
      if (said.type === "response.completed") finish = "stop";
      if (lastWords.has(said.type)) over = true;
    }
    if (said.hermes || said.error) last = { ...last, ...said };
    const choice = firstOf(said);
    if (choice?.finish_reason) finish = choice.finish_reason;
    if (choice?.delta) keep(textOf(choice.delta.content));
    if (Array.isArray(said.choices)) for (const each of said.choices) bytes += bytesSaid(each?.delta);
  });

  return {
    push(chunk) {
      if (useful) useful = events.push(decoder.decode(chunk, { stream: true }));
    },
    get over() {
      return over;
    },
    get said() {
      return text;
    },
    tokens: (input) => told ?? estimated(input, bytes),
    failure: (headers, failures) =>
      text === "" ? undefined : failureIn({ text, finish, headers, said: last, failures }),
  };
}

const lastWords = new Set<string>(["response.completed", "response.failed", "response.incomplete"]);

/** For an answer that came whole. */
export function plainTap(body: Buffer): Pick<Tap, "tokens" | "failure"> & { told: Tokens | undefined } {
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
  if (!Array.isArray(said?.choices)) return Buffer.byteLength(text);
  return said.choices.reduce((sum, choice) => sum + bytesSaid(choice?.message), 0);
}

/** The members of a message that nobody says. */
const unsaid = new Set(["role", "id", "type"]);
const deepest = 20;

/** Bytes of all that is said in a message, or in a piece of one: also what is thought, and what tools are called with. */
function bytesSaid(value: unknown, depth = 0): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null || depth > deepest) return 0;
  let sum = 0;
  for (const [name, each] of Object.entries(value)) if (!unsaid.has(name)) sum += bytesSaid(each, depth + 1);
  return sum;
}
