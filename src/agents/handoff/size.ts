import { tokensInBytes } from "../../text/tokens.js";
import type { Part, TranscriptMessage } from "./transcript.js";

/** What a picture counts for, whatever its size: what a large one costs with most models. */
const picture = 765;

/** About how many tokens a model reads in these. */
export const tokensIn = (said: readonly TranscriptMessage[]): number =>
  said.reduce((sum, message) => sum + tokensOf(message), 0);

function tokensOf({ content, calls, answers }: TranscriptMessage): number {
  const texts =
    typeof content === "string" ? [content] : content.flatMap((part) => (isPicture(part) ? [] : textOf(part)));
  const called = calls.flatMap(({ id, name, arguments: given }) => [id, name, given]);
  const all = [...texts, ...called, ...(answers ? [answers.id] : [])];
  const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return tokensInBytes(bytes) + picture * picturesIn([{ content }]);
}

const textOf = (part: Part): string => (typeof part.text === "string" ? part.text : JSON.stringify(part));

/** The pictures that are parts of messages. */
export const picturesIn = (said: readonly Pick<TranscriptMessage, "content">[]): number =>
  said.reduce((sum, { content }) => sum + (typeof content === "string" ? 0 : content.filter(isPicture).length), 0);

const isPicture = ({ type }: Part): boolean => type === "image_url" || type === "input_image" || type === "image";
