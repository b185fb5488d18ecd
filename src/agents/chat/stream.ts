import { ByteBuffer } from "../../text/byte-buffer.js";
import { type Completion, completionFrom, errorText, failureIn, hasError, textOf } from "./completion.js";
import { EventSplitter, parseEvent, type ServerEvent } from "./events.js";
import { type AnswerFailure, type FailureSigns, mayBeFailure } from "./failure.js";

export interface ToolUse {
  tool: string;
  label: string;
  /** `running` when it begins. */
  status: string;
}

export type Piece = { text: string } | ToolUse;

export interface Streamed {
  text: string;
  failure?: AnswerFailure;
  /** It reached its maximum length. */
  cut?: boolean;
  tokens?: { input: number; output: number };
}

export interface ReadOptions {
  headers: Record<string, string>;
  signs: FailureSigns;
  onPiece: (piece: Piece) => void;
  /** The use of a tool that an event reports, in the agent's own way. */
  toolUse?: (event: ServerEvent) => ToolUse | undefined;
}

export interface AnswerReader {
  /** Returns whether to go on reading: not when an answer is too long. */
  push(chunk: Buffer): boolean;
  end(): Streamed;
}

// Bytes. In a stream each word of an answer takes a few hundred; no answer is as long.
const maxStream = 64 * 1024 * 1024;
const maxEvent = 8 * 1024 * 1024;

/** Reads a streamed completion. Text that may be a failure is held back, so that it is never shown as an answer. */
export class StreamReader implements AnswerReader {
  #text = "";
  /** Text that was not shown yet; undefined once some was. */
  #unshown: string | undefined = "";
  #length = 0;
  #tooLong = false;
  #finish: unknown;
  #errors: Completion = {};
  #usage: Completion["usage"];
  #done = false;
  readonly #splitter = new EventSplitter({
    maxBytes: maxEvent,
    onEvent: (event, isComplete) => {
      const parsed = isComplete ? parseEvent(event) : undefined;
      if (parsed) this.#event(parsed);
    },
  });

  constructor(private readonly options: ReadOptions) {}

  push(chunk: Buffer): boolean {
    this.#length += chunk.length;
    this.#tooLong ||= this.#length > maxStream || !this.#splitter.push(chunk);
    return !this.#tooLong;
  }

  end(): Streamed {
    if (this.#tooLong) return { text: this.#text, failure: tooLong };
    this.#splitter.end();
    const { headers, signs } = this.options;
    const [text, finish, said, usage] = [this.#text, this.#finish, this.#errors, this.#usage];
    const failure = failureIn({ text, finish, headers, said, usage, signs });
    if (failure === undefined) this.#showHeldBack();
    if (!this.#done && finish === undefined && errorText(said) === "") return { text, failure: brokeOff };
    return failure ? { text, failure } : answered(text, finish, usage);
  }

  #event(event: ServerEvent): void {
    const { toolUse, onPiece, signs } = this.options;
    if (event.data === "[DONE]") {
      this.#done = true;
      return;
    }
    const used = toolUse?.(event);
    if (used) {
      onPiece(used);
      return;
    }
    const chunk = completionFrom(event.data);
    if (!chunk) return;
    const [choice] = chunk.choices ?? [];
    if (chunk.usage) this.#usage = chunk.usage;
    if (hasError(chunk) || signs.extension?.isIn(chunk)) this.#errors = { ...this.#errors, ...chunk };
    if (choice?.finish_reason) this.#finish = choice.finish_reason;
    const content = textOf(choice?.delta?.content);
    const piece = this.#text === "" ? withoutLeadingLines(content) : content;
    this.#text += piece;
    this.#show(piece);
  }

  #show(piece: string): void {
    if (this.#unshown === undefined) {
      if (piece !== "") this.options.onPiece({ text: piece });
      return;
    }
    this.#unshown += piece;
    if (!mayBeFailure(this.#unshown, this.options.signs)) this.#showHeldBack();
  }

  #showHeldBack(): void {
    if (this.#unshown) this.options.onPiece({ text: this.#unshown });
    this.#unshown = undefined;
  }
}

export class WholeReader implements AnswerReader {
  readonly #body = new ByteBuffer();

  constructor(private readonly options: ReadOptions) {}

  push(chunk: Buffer): boolean {
    this.#body.push(chunk);
    return this.#body.length <= maxStream;
  }

  end(): Streamed {
    const { headers, signs, onPiece } = this.options;
    const said = completionFrom(this.#body.take().toString());
    const [choice] = said?.choices ?? [];
    if (!said || !choice) return { text: "", failure: notACompletion };
    const text = withoutLeadingLines(textOf(choice.message?.content));
    const { finish_reason: finish } = choice;
    const failure = failureIn({ text, finish, headers, said, usage: said.usage, signs });
    if (failure) return { text, failure };
    onPiece({ text });
    return answered(text, finish, said.usage);
  }
}

/** After a tool call an agent may begin its text with empty lines (seen live). */
const withoutLeadingLines = (text: string): string => text.replace(/^[\r\n]+/, "");

function answered(text: string, finish: unknown, usage: Completion["usage"]): Streamed {
  const { prompt_tokens: input, completion_tokens: output } = usage ?? {};
  return {
    text,
    ...(finish === "length" && { cut: true }),
    ...(typeof input === "number" && typeof output === "number" && { tokens: { input, output } }),
  };
}

const notAnAnswer = (text: string): AnswerFailure => ({ cause: "unknown", text, asAnswer: false });
const brokeOff = notAnAnswer("it broke off before its end");
const tooLong = notAnAnswer("it has no end, and was not read any further");
const notACompletion = notAnAnswer("what came back is not a completion");

export function refusal(status: number, body: string): string {
  const said = completionFrom(body);
  return `HTTP ${status}${said && errorText(said) ? `: ${errorText(said)}` : ""}`;
}
