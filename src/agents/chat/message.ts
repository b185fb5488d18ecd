import { randomBytes } from "node:crypto";
import { Fault } from "../../errors.js";

/** A text file that goes with a message. */
export interface Attachment {
  name: string;
  text: string;
}

/** A message and its files, as one text: an agent's API takes no files. */
export function messageWith(text: string, files: readonly Attachment[]): string {
  const parts = [text.trim(), ...files.map(fenced)].filter((part) => part !== "");
  return parts.join("\n\n");
}

function fenced({ name, text }: Attachment): string {
  // Longer than any fence within, so that the file cannot end before its end.
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${name}:\n${fence}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${fence}`;
}

/** Whatever is longer than an agent reads is refused: it would be cut without a word. */
export function mustFit(text: string, longest: number | undefined, what = "the message"): void {
  if (text.trim() === "") throw new Fault("bad-input", `${what} is empty`);
  // Cheap for nearly every text; characters are counted as the agent counts them, an emoji as one.
  if (longest === undefined || text.length <= longest) return;
  const length = [...text].length;
  if (length <= longest) return;
  throw new Fault("bad-input", `${what} is too long: ${length} characters with its files`, {
    why: `the agent reads ${longest} of one message and drops the rest without a word; nothing was sent`,
    data: { length, longest },
  });
}

/** What is asked of the API. Who it was said before, the agent knows by the session. */
export const chatBody = (model: string, message: string, system: string | undefined, stream = true): string =>
  JSON.stringify({
    model,
    stream,
    messages: [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: message }],
  });

/** The header by which an agent knows which conversation goes on. */
export const sessionHeader = "X-Hermes-Session-Id";

/** A name for a conversation that nobody else has. */
export const newSessionId = (now: Date): string =>
  `clm-${now.toISOString().slice(0, 10).replaceAll("-", "")}-${randomBytes(4).toString("hex")}`;

/** Refuses an id that no agent takes, before it becomes a header. */
export function mustBeSessionId(id: string): void {
  if (/^[\x21-\x7e]{1,256}$/.test(id) && !/[/\\]|\.\./.test(id)) return;
  throw new Fault("bad-input", "that is not the id of a session", {
    why: "an id has up to 256 letters, digits and signs, no blanks and no slashes",
  });
}
