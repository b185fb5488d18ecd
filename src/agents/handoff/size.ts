import { tokensInBytes } from "../../text/tokens.js";
import type { Part, TranscriptMessage } from "./transcript.js";

/** Tokens of a picture of any size: what a large one costs with most models. */
const picture = 765;

/** An estimate. */
export const tokensIn = (messages: readonly TranscriptMessage[]): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0);

function tokensOf({ content, calls, answers }: TranscriptMessage): number {
  const texts =
    typeof content === "string" ? [content] : content.flatMap((part) => (isPicture(part) ? [] : textOf(part)));
  const called = calls.flatMap(({ id, name, arguments: given }) => [id, name, given]);
  const all = [...texts, ...called, ...(answers ? [answers.id] : [])];
  const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return tokensInBytes(bytes) + picture * picturesIn([{ content }]);
}

const textOf = (part: Part): string => (typeof part.text === "string" ? part.text : JSON.stringify(part));

export const picturesIn = (messages: readonly Pick<TranscriptMessage, "content">[]): number =>
  messages.reduce((sum, { content }) => sum + (typeof content === "string" ? 0 : content.filter(isPicture).length), 0);

const isPicture = ({ type }: Part): boolean => type === "image_url" || type === "input_image" || type === "image";
