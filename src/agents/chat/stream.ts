import { type Completion, completionFrom, errorText, failureIn, textOf } from "./completion.js";
import { eventReader } from "./events.js";
import { type AnswerFailure, type FailureForms, mayBeFailure } from "./failure.js";

/** What is shown of an answer while it comes. */
export type Piece = { text: string } | { tool: string; label: string; status: string };

/** A streamed answer that came to its end, or why it is none. */
export interface Streamed {
  text: string;
  failure?: AnswerFailure;
  /** It was cut at its longest. */
  cut?: boolean;
  tokens?: { input: number; output: number };
}

export interface StreamOptions {
  headers: Record<string, string>;
  forms: FailureForms;
  onPiece: (piece: Piece) => void;
}

/** Characters of a stream, in which each word of an answer takes a few hundred. Nothing a model says is as long. */
const longest = 64 * 1024 * 1024;

/**
 * Reads a streamed completion. Text that may yet turn out to be a failure told as an answer is held back until it cannot be
 * one any more: nobody is shown a failure as if the model had said it.
 */
export function streamReader({ headers, forms, onPiece }: StreamOptions) {
  let text = "";
  /** What was not shown yet, as long as nothing was. */
  let held: string | undefined = "";
  let length = 0;
  let endless = false;
  let finish: unknown;
  let last: Completion = {};
  let usage: Completion["usage"];
  let over = false;

  function show(piece: string): void {
    if (held === undefined) {
      if (piece !== "") onPiece({ text: piece });
      return;
    }
    held += piece;
    if (!mayBeFailure(held, forms)) showHeld();
  }

  function showHeld(): void {
    if (held) onPiece({ text: held });
    held = undefined;
  }

  function chunk(said: Completion): void {
    const [choice] = said.choices ?? [];
    if (said.usage) usage = said.usage;
    if (said.hermes || said.error !== undefined) last = { ...last, ...said };
    if (choice?.finish_reason) finish = choice.finish_reason;
    const content = textOf(choice?.delta?.content);
    // After a tool call Hermes begins its text with two newlines (seen live), before which nothing was said.
    const piece = text === "" ? content.replace(/^[\r\n]+/, "") : content;
    text += piece;
    show(piece);
  }

  const events = eventReader(({ name, data }) => {
    if (data === "[DONE]") over = true;
    else if (name === "hermes.tool.progress") tool(data, onPiece);
    else {
      const said = completionFrom(data);
      if (said) chunk(said);
    }
  });

  return {
    /** Whether more is of use: it is not when an answer has no end. */
    push(part: string): boolean {
      length += part.length;
      endless ||= length > longest || !events.push(part);
      return !endless;
    },
    /** After the last byte. */
    end(): Streamed {
      if (endless) return { text, failure: noEnd };
      const failure = failureIn({ text, finish, headers, said: last, usage, forms });
      if (failure === undefined) showHeld();
      if (!over && finish === undefined && errorText(last) === "") return { text, failure: brokeOff };
      if (failure !== undefined) return { text, failure };
      return { text, ...(finish === "length" && { cut: true }), ...tokensIn(usage) };
    },
  };
}

const brokeOff = unfinished("it broke off before its end");
const noEnd = unfinished("it has no end, and was not listened to any longer");

function unfinished(text: string): AnswerFailure {
  return { cause: "unknown", text, asAnswer: false };
}

function tool(data: string, onPiece: StreamOptions["onPiece"]): void {
  const { tool, label, status } = (completionFrom(data) ?? {}) as Record<string, unknown>;
  if (typeof tool !== "string") return;
  onPiece({ tool, label: typeof label === "string" ? label : "", status: typeof status === "string" ? status : "" });
}

function tokensIn(usage: Completion["usage"]): Pick<Streamed, "tokens"> {
  const { prompt_tokens: input, completion_tokens: output } = usage ?? {};
  return typeof input === "number" && typeof output === "number" ? { tokens: { input, output } } : {};
}

/** Reads a completion that came whole, as a stream of one piece. */
export function wholeAnswer(body: string, { headers, forms, onPiece }: StreamOptions): Streamed {
  const said = completionFrom(body);
  const [choice] = said?.choices ?? [];
  if (!said || !choice) return { text: "", failure: noCompletion };
  const text = textOf(choice.message?.content).replace(/^[\r\n]+/, "");
  const { finish_reason: finish } = choice;
  const failure = failureIn({ text, finish, headers, said, usage: said.usage, forms });
  if (failure) return { text, failure };
  onPiece({ text });
  return { text, ...(finish === "length" && { cut: true }), ...tokensIn(said.usage) };
}

const noCompletion = unfinished("what came back is not a completion");

/** Why there is no stream at all: what a refused request said. */
export const refusal = (status: number, body: string): string => {
  const said = completionFrom(body);
  return `HTTP ${status}${said && errorText(said) ? `: ${errorText(said)}` : ""}`;
};
