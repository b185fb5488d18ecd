import { Fault } from "../../errors.js";
import { nearest } from "../../text/nearest.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";

export interface MemoryFile {
  name: string;
  path: string;
  /** Code points. */
  limit: number;
  /** The agent locks `<path>.lock` when it writes the file. */
  lock: boolean;
  summary: string;
  /** The file is a list of entries and may be deleted; otherwise it is one text, which the agent cannot be without. */
  entries: boolean;
}

/** The capability: which memory files a type has, and how it reads them. */
export interface MemoryFormat {
  files(agent: Pick<ResolvedAgent, "manifest" | "paths">): MemoryFile[];
  entriesOf(text: string): string[];
  /** Surprising effects that the text will have. */
  surprisesIn(agent: ResolvedAgent, file: MemoryFile, text: string): string[];
}

/** The file of that name; without a name the first one, which holds the agent's notes. */
export function findMemoryFile(type: string, files: MemoryFile[], name: string | undefined): MemoryFile {
  const found = name === undefined ? files[0] : files.find((file) => file.name === name);
  if (found) return found;
  const names = files.map((file) => file.name);
  const guess = nearest(name ?? "", names);
  throw new Fault("bad-input", onlyLists(type, files), {
    why: [
      `'${name}' is not one of them${guess ? `; did you mean '${guess}'?` : ""}`,
      ...files.flatMap((file) =>
        file.entries ? [] : `${file.name} is accepted too, except by delete; it is kept at ${file.path}`,
      ),
    ],
    data: { files: names },
  });
}

export const onlyLists = (type: string, files: MemoryFile[]): string =>
  `${type} memory accepts only ${files.flatMap(({ name, entries }) => (entries ? name : [])).join(" and ")}`;

/** Counts code points, as agents do: an emoji is one, a combining accent one more. */
export const lengthOf = (text: string): number => [...text].length;

/**
 * Line ends become LF, and a list of entries loses its last newline: the agent writes none, and would count it.
 * `notes` are changes that the user should know of.
 */
export function normalizeText({ name, entries }: MemoryFile, bytes: Uint8Array): { text: string; notes: string[] } {
  let text = decode(name, bytes);
  const notes: string[] = [];
  if (text.startsWith("\ufeff")) {
    text = text.slice(1);
    notes.push("the byte order mark at its beginning was dropped");
  }
  if (text.includes("\r\n")) {
    text = text.replaceAll("\r\n", "\n");
    notes.push("Windows line ends (CRLF) were replaced by LF");
  }
  return { text: entries ? text.replace(/\n$/, "") : text, notes };
}

function decode(name: string, bytes: Uint8Array): string {
  if (bytes.includes(0)) throw notText(name, "it contains a NUL byte");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw notText(name, "it is not valid UTF-8", error);
  }
}

const notText = (name: string, why: string, cause?: unknown) =>
  new Fault("bad-input", `the new content of ${name} is not text`, { why, cause });

export function mustFit(type: string, file: MemoryFile, text: string, entries: string[]): void {
  const length = lengthOf(text);
  if (length <= file.limit) return;
  const lengths = file.entries ? entries.map(lengthOf) : [];
  const longest = Math.max(...lengths);
  const which = `the longest of its ${lengths.length} entries is number ${lengths.indexOf(longest) + 1}, with ${longest}`;
  throw new Fault(
    "bad-input",
    `${type} memory file '${file.name}' exceeds character limit (${length} > ${file.limit} chars)`,
    {
      why: [`it is ${length - file.limit} too long; nothing was sent`, ...(lengths.length > 1 ? [which] : [])],
      data: { length, limit: file.limit },
    },
  );
}
