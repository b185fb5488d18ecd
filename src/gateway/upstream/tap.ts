import {
  type Completion,
  completionFrom,
  failureIn,
  hasError,
  type TokenUsage,
  textOf,
} from "../../agents/chat/completion.js";
import { parseEvent } from "../../agents/chat/events.js";
import { type AnswerFailure, type FailureSigns, mayBeFailure } from "../../agents/chat/failure.js";
import { failureInResponse, type ResponseObject, textOfResponse } from "../../agents/chat/response.js";
import { isRecord } from "../../text/record.js";
import { tokensInBytes } from "../../text/tokens.js";
import type { Tokens } from "../request/gateway-call.js";

interface StreamEvent extends Completion {
  type?: unknown;
  delta?: unknown;
  response?: ResponseObject;
  sequence_number?: unknown;
}

/** Undefined when the answer has no usage: agents that do not know it report zero. */
function tokensReported(usage: TokenUsage | null | undefined): Tokens | undefined {
  const input = usage?.prompt_tokens ?? usage?.input_tokens;
  const output = usage?.completion_tokens ?? usage?.output_tokens ?? 0;
  return isCount(input) && isCount(output) && input + output > 0 ? { input, output } : undefined;
}

/** Any number that can be counted with; the allowance judges how much of it is believable. */
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const estimated = (input: number, bytes: number): Tokens => ({ input, output: tokensInBytes(bytes), estimated: true });

// Characters. Failures are recognised by how their text begins.
const beginning = 400;
const endOfText = new Set<string>(["response.output_text.done", "response.content_part.done"]);
const endOfResponse = new Set<string>(["response.completed", "response.failed", "response.incomplete"]);

/** Reads passing events of a streamed answer: the tokens they report, and whether the answer is a failed call. */
export class StreamTap {
  /** The answer's text, as much of it as is kept. */
  text = "";
  /** The last event was seen; events after it add nothing to the answer. */
  over = false;
  /** The id by which an answer of /v1/responses can be continued. */
  response: string | undefined;
  /** The latest version of the response that the stream is about. */
  lastResponse: ResponseObject | undefined;
  sequence = -1;
  #reported: Tokens | undefined;
  /** Bytes of everything that counts as output. */
  #bytes = 0;
  /** Characters of text, with those that are not kept. */
  #length = 0;
  #finish: unknown;
  #errors: Completion = {};
  #usage: TokenUsage | null | undefined;
  #calledTools = false;
  #ending = false;

  constructor(
    private readonly signs: FailureSigns,
    private readonly maxText = beginning,
  ) {}

  take(event: Buffer): void {
    const data = parseEvent(event)?.data;
    if (data === undefined) return;
    if (data === "[DONE]") {
      this.over = true;
      return;
    }
    const said: StreamEvent | undefined = completionFrom(data);
    if (!said) return;
    const usage = said.usage ?? said.response?.usage;
    this.#usage = usage ?? this.#usage;
    this.#reported = tokensReported(usage) ?? this.#reported;
    this.response ??= stringIn(said.response?.id);
    if (typeof said.type === "string") this.#responseEvent(said.type, said);
    if (hasError(said) || this.signs.extension?.isIn(said)) this.#errors = { ...this.#errors, ...said };
    const choice = firstOf(said);
    if (choice?.delta) {
      this.#keep(textOf(choice.delta.content));
      this.#calledTools ||= hasCalls(choice.delta.tool_calls);
    }
    if (choice?.finish_reason) {
      this.#finish = choice.finish_reason;
      this.#ending = true;
    }
    if (Array.isArray(said.choices)) for (const each of said.choices) this.#bytes += outputBytes(each?.delta);
  }

  /** It ended by itself: with a last event, a finish reason or an error. */
  get complete(): boolean {
    return this.over || this.#finish !== undefined || Boolean(this.#errors.error);
  }

  /** What came so far may turn out to be a failure: it is ending, or its text may be that of one. */
  get mayFail(): boolean {
    const isShort = this.#length > 0 && this.#length <= this.text.length;
    return this.over || this.#ending || (isShort && mayBeFailure(this.text, this.signs));
  }

  /** As reported, or estimated by the answer's length. */
  tokens(input: number): Tokens {
    return this.#reported ?? estimated(input, this.#bytes);
  }

  /** Tokens of a failed call: as reported, or estimated by the text before the error. */
  failedTokens(input: number, { asAnswer }: AnswerFailure): Tokens | undefined {
    return this.#reported ?? (this.#bytes > 0 && !asAnswer ? estimated(input, this.#bytes) : undefined);
  }

  failure(headers: Record<string, string>): AnswerFailure | undefined {
    const { text, signs } = this;
    const [finish, said, usage] = [this.#finish, this.#errors, this.#usage];
    if (this.lastResponse) {
      const response = said.error ? { ...this.lastResponse, error: said.error } : this.lastResponse;
      return failureInResponse(response, headers, signs, text || textOfResponse(response));
    }
    // An answer that only calls tools has no text.
    if (text === "" && this.#calledTools) return undefined;
    return failureIn({ text, finish, headers, said, usage, signs });
  }

  #responseEvent(type: string, { sequence_number, response, delta }: StreamEvent): void {
    if (typeof sequence_number === "number") this.sequence = sequence_number;
    if (isRecord(response)) this.lastResponse = response;
    if (type.endsWith(".delta") && typeof delta === "string") {
      this.#bytes += Buffer.byteLength(delta);
      // Reasoning and the arguments of tools are not part of the text.
      if (type === "response.output_text.delta") this.#keep(delta);
    }
    if (endOfText.has(type)) this.#ending = true;
    if (endOfResponse.has(type)) this.over = true;
  }

  #keep(piece: string): void {
    if (piece === "") return;
    this.#length += piece.length;
    this.#ending = false;
    if (this.text.length < this.maxText) this.text += piece.slice(0, this.maxText - this.text.length);
  }
}

export class WholeTap {
  readonly response: string | undefined;
  readonly reported: Tokens | undefined;
  readonly #text: string;
  readonly #said: Completion | undefined;

  constructor(body: Buffer) {
    this.#text = body.toString("utf8");
    this.#said = completionFrom(this.#text);
    this.reported = tokensReported(this.#said?.usage);
    this.response = stringIn((this.#said as ResponseObject | undefined)?.id);
  }

  tokens(input: number): Tokens {
    return this.reported ?? estimated(input, this.#outputBytes());
  }

  failure(headers: Record<string, string>, signs: FailureSigns): AnswerFailure | undefined {
    const said = this.#said;
    const choice = said && firstOf(said);
    const response = said as ResponseObject | undefined;
    if (response && Array.isArray(response.output)) return failureInResponse(response, headers, signs);
    if (!said || !choice?.message || hasCalls(choice.message.tool_calls)) return undefined;
    const text = textOf(choice.message.content);
    return failureIn({ text, finish: choice.finish_reason, headers, said, usage: said.usage, signs });
  }

  #outputBytes(): number {
    const choices = this.#said?.choices;
    if (!Array.isArray(choices)) return Buffer.byteLength(this.#text);
    return choices.reduce((sum, choice) => sum + outputBytes(choice?.message), 0);
  }
}

const stringIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const hasCalls = (calls: unknown): boolean => Array.isArray(calls) && calls.length > 0;
const firstOf = ({ choices }: Completion) => (Array.isArray(choices) ? choices[0] : undefined);

/** Members of a message that are not the model's output. */
const notOutput = new Set(["role", "id", "type"]);
const maxDepth = 20;

/** Bytes of all output in a message or in a piece of one, with reasoning and the arguments of tools. */
function outputBytes(value: unknown, depth = 0): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null || depth > maxDepth) return 0;
  let sum = 0;
  for (const [name, each] of Object.entries(value)) if (!notOutput.has(name)) sum += outputBytes(each, depth + 1);
  return sum;
}
