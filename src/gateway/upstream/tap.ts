import { type Completion, completionFrom, failureIn, type TokenUsage, textOf } from "../../agents/chat/completion.js";
import { eventReader } from "../../agents/chat/events.js";
import { type AnswerFailure, type FailureForms, mayBeFailure } from "../../agents/chat/failure.js";
import { failureInResponse, type ResponseObject, textOfResponse } from "../../agents/chat/response.js";
import { isRecord } from "../../text/record.js";
import { tokensInBytes } from "../../text/tokens.js";
import type { Tokens } from "../gateway-call.js";

/** Reads along what passes: how many tokens it took, and whether it is the answer it seems to be. */
export interface Tap {
  push(chunk: Buffer): void;
  /** What was said, as much of it as is kept. */
  readonly said: string;
  /** The answer has said its last word; what follows adds nothing to it. */
  readonly over: boolean;
  /** As they were told, or by the length of what was said. */
  tokens(input: number): Tokens;
  /** Under which id an answer of /v1/responses can be gone on with. */
  readonly response: string | undefined;
  /** Those of a call that failed: what is reported, and what was said before an error. Nothing when neither is there. */
  failedTokens(input: number, failure: AnswerFailure): Tokens | undefined;
  /** Why it is no answer, though it looks like one. */
  failure(headers: Record<string, string>, forms: FailureForms): AnswerFailure | undefined;
}

/** Of a stream, also what must be known to end it as a failure. */
export interface StreamTap extends Tap {
  /** What has come may yet turn out to be a failure: it ends, or its text may be that of one. */
  mayFail(forms: FailureForms): boolean;
  /** The response that the stream is about, as it was last told, and the number of its last event. */
  readonly lastResponse: ResponseObject | undefined;
  readonly sequence: number;
  /** It came to an end of its own: a last word, a reason to finish, an error. */
  readonly complete: boolean;
}

interface StreamEvent extends Completion {
  type?: unknown;
  delta?: unknown;
  response?: ResponseObject;
  sequence_number?: unknown;
}

/** Nothing when it was not told: zero is what agents say that do not know. */
function tokensTold(usage: TokenUsage | null | undefined): Tokens | undefined {
  const input = usage?.prompt_tokens ?? usage?.input_tokens;
  const output = usage?.completion_tokens ?? usage?.output_tokens ?? 0;
  return isCount(input) && isCount(output) && input + output > 0 ? { input, output } : undefined;
}

/** Any number that can be counted with: how much of it is believed is judged where it is booked. */
const isCount = (told: unknown): told is number => Number.isSafeInteger(told) && Number(told) >= 0;

const estimated = (input: number, bytes: number): Tokens => ({ input, output: tokensInBytes(bytes), estimated: true });

// The texts of failures are told by how they begin.
const beginning = 400;

/** For server-sent events, wherever they are cut into chunks. Keeps so many characters of what is said. */
export function streamTap(kept = beginning): StreamTap {
  const decoder = new TextDecoder();
  let told: Tokens | undefined;
  let bytes = 0;
  let text = "";
  let finish: unknown;
  let last: Completion = {};
  let response: string | undefined;
  let usage: TokenUsage | null | undefined;
  let lastResponse: ResponseObject | undefined;
  let sequence = -1;
  /** Characters of text, also of what is not kept. */
  let length = 0;
  let calledTools = false;
  let ending = false;
  let over = false;
  let useful = true;

  const keep = (piece: string) => {
    if (piece === "") return;
    length += piece.length;
    ending = false;
    if (text.length < kept) text += piece.slice(0, kept - text.length);
  };
  const events = eventReader(({ data }) => {
    if (data === "[DONE]") {
      over = true;
      return;
    }
    const said = completionFrom(data) as StreamEvent | undefined;
    if (!said) return;
    usage = said.usage ?? said.response?.usage ?? usage;
    told = tokensTold(said.usage ?? said.response?.usage) ?? told;
    response ??= textIn(said.response?.id);
    if (typeof said.type === "string") {
      if (typeof said.sequence_number === "number") sequence = said.sequence_number;
      if (isRecord(said.response)) lastResponse = said.response;
      if (said.type.endsWith(".delta") && typeof said.delta === "string") {
        bytes += Buffer.byteLength(said.delta);
        // Thoughts and the arguments of tools are no part of the text.
        if (said.type === "response.output_text.delta") keep(said.delta);
      }
      if (endOfText.has(said.type)) ending = true;
      if (lastWords.has(said.type)) over = true;
    }
    if (said.hermes || said.error) last = { ...last, ...said };
    const choice = firstOf(said);
    if (choice?.delta) {
      keep(textOf(choice.delta.content));
      calledTools ||= isCalling(choice.delta.tool_calls);
    }
    if (choice?.finish_reason) {
      finish = choice.finish_reason;
      ending = true;
    }
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
    get response() {
      return response;
    },
    get lastResponse() {
      return lastResponse;
    },
    get sequence() {
      return sequence;
    },
    get complete() {
      return over || finish !== undefined || Boolean(last.error);
    },
    tokens: (input) => told ?? estimated(input, bytes),
    failedTokens: (input, { asAnswer }) => told ?? (bytes > 0 && !asAnswer ? estimated(input, bytes) : undefined),
    mayFail: (forms) => over || ending || (length > 0 && length <= text.length && mayBeFailure(text, forms)),
    failure(headers, forms) {
      if (lastResponse) {
        const response = last.error ? { ...lastResponse, error: last.error } : lastResponse;
        return failureInResponse(response, headers, forms, text || textOfResponse(response));
      }
      // An answer that only calls tools says nothing, and is one.
      if (text === "" && calledTools) return undefined;
      return failureIn({ text, finish, headers, said: last, usage, forms });
    },
  };
}

const isCalling = (calls: unknown): boolean => Array.isArray(calls) && calls.length > 0;

/** After these a response says no more, or begins another text. */
const endOfText = new Set<string>(["response.output_text.done", "response.content_part.done"]);
const lastWords = new Set<string>(["response.completed", "response.failed", "response.incomplete"]);

/** For an answer that came whole. */
export function plainTap(body: Buffer): Pick<Tap, "tokens" | "failure" | "failedTokens" | "response"> {
  const text = body.toString("utf8");
  const said = completionFrom(text);
  const told = tokensTold(said?.usage);
  return {
    response: textIn((said as { id?: unknown } | undefined)?.id),
    tokens: (input) => told ?? estimated(input, spokenIn(said, text)),
    failedTokens: () => told,
    failure(headers, forms) {
      const choice = said && firstOf(said);
      const response = said as ResponseObject | undefined;
      if (response && Array.isArray(response.output)) return failureInResponse(response, headers, forms);
      if (!said || !choice?.message) return undefined;
      if (isCalling(choice.message.tool_calls)) return undefined;
      const content = textOf(choice.message.content);
      return failureIn({ text: content, finish: choice.finish_reason, headers, said, usage: said.usage, forms });
    },
  };
}

const textIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

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
