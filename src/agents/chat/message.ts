import { randomBytes } from "node:crypto";
import { Fault } from "../../errors.js";

export interface Attachment {
  name: string;
  text: string;
}

/** A message and its files as one text: an agent's API takes no files. */
export function messageWith(text: string, files: readonly Attachment[]): string {
  const attached = files.map((file) => `${file.name}:\n${fenced(file.text)}`);
  return [text.trim(), ...attached].filter((part) => part !== "").join("\n\n");
}

/** Between fences that are longer than any in the text, so that the text cannot close them. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${fence}`;
}

/** Refuses a message that the agent would cut without saying so. */
export function mustFit(text: string, maxLength: number | undefined, what = "the message"): void {
  if (text.trim() === "") throw new Fault("bad-input", `${what} is empty`);
  // Counting characters as the agent does, an emoji as one, is needed only for long texts.
  if (maxLength === undefined || text.length <= maxLength) return;
  const length = [...text].length;
  if (length <= maxLength) return;
  throw new Fault("bad-input", `${what} is too long: ${length} characters with its files`, {
    why: `the agent reads ${maxLength} characters of a message and drops the rest silently; nothing was sent`,
    data: { length, longest: maxLength },
  });
}

/** A chat completion request with the new message alone: the agent has the earlier ones in its session. */
export const chatBody = (model: string, message: string, system: string | undefined, stream: boolean) => ({
  model,
  stream,
  messages: [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: message }],
});

export const newSessionId = (now: Date): string =>
  `clm-${now.toISOString().slice(0, 10).replaceAll("-", "")}-${randomBytes(4).toString("hex")}`;

export const isSessionId = (id: string): boolean => /^[\x21-\x7e]{1,256}$/.test(id) && !/[/\\]|\.\./.test(id);

/** Checks an id before it becomes a header. */
export function mustBeSessionId(id: string): void {
  if (isSessionId(id)) return;
  throw new Fault("bad-input", "that is not a session id", {
    why: "an id has up to 256 letters, digits and signs, without spaces and slashes",
  });
}
