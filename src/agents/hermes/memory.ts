import { dirname } from "node:path";
import { Fault } from "../../errors.js";
import { nearest } from "../../text/nearest.js";
import { fill } from "../files/template.js";
import { inRange } from "../manifest/versions.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";

/** A file an agent remembers in. */
export interface MemoryFile {
  name: string;
  path: string;
  /** Code points. */
  limit: number;
  /** The agent locks `<path>.lock` when it writes it. */
  lock: boolean;
  summary: string;
  /** It is a list of entries, in the memories' own directory; otherwise it is one text with a place of its own. */
  entries: boolean;
}

export function memoryFiles({ manifest, paths }: Pick<ResolvedAgent, "manifest" | "paths">): MemoryFile[] {
  const { path: _, ...values } = paths;
  return Object.entries(manifest.memory).map(([name, { path, ...file }]) => {
    const full = fill(path, values) ?? path;
    return { ...file, name, path: full, entries: dirname(full) === paths.memories };
  });
}

/** The file of that name. Without a word it is the first one, which the agent writes its notes to. */
export function memoryFileFrom(agent: ResolvedAgent, word: string | undefined): MemoryFile {
  const files = memoryFiles(agent);
  const found = word === undefined ? files[0] : files.find(({ name }) => name === word);
  if (found) return found;
  const names = files.map(({ name }) => name);
  const lists = files.filter(({ entries }) => entries).map(({ name }) => name);
  const others = files.filter(({ entries }) => !entries);
  const guess = nearest(word ?? "", names);
  throw new Fault("bad-input", `${agent.manifest.type} memory accepts only ${lists.join(" and ")}`, {
    why: [
      `'${word}' is none of them${guess ? `; did you mean '${guess}'?` : ""}`,
      ...others.map(({ name, path }) => `${name} is accepted too, except by delete; it is kept at ${path}`),
    ],
    data: { files: names },
  });
}

const separator = "\n§\n";

/** What the agent takes for its entries: trimmed, none empty. */
export const entriesOf = (text: string): string[] =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

/** As the agent counts: code points, so that an emoji is one and an accent of its own is one more. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

export interface MemoryText {
  text: string;
  /** What was changed about it, for the user to know. */
  told: string[];
}

/**
 * The text as it is to be kept. Line ends become those of the host, and of a list of entries the newline that editors
 * and `echo` put at the end is dropped: the agent writes none, and would count it.
 */
export function memoryText({ name, entries }: MemoryFile, bytes: Uint8Array): MemoryText {
  const raw = decoded(name, bytes);
  const told: string[] = [];
  let text = raw;
  if (text.startsWith("\ufeff")) {
    text = text.slice(1);
    told.push("the byte order mark at its beginning was dropped");
  }
  if (text.includes("\r\n")) {
    text = text.replaceAll("\r\n", "\n");
    told.push("lines that ended as on Windows (CRLF) end with LF now");
  }
  return { text: entries ? text.replace(/\n$/, "") : text, told };
}

function decoded(name: string, bytes: Uint8Array): string {
  if (bytes.includes(0)) throw notText(name, "it holds a NUL");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw notText(name, "it is not valid UTF-8", error);
  }
}

const notText = (name: string, why: string, cause?: unknown) =>
  new Fault("bad-input", `what should become ${name} is not text`, { why, cause });

/** Refuses a text the agent could not work with. An entry is never longer than the whole, so the whole is what counts. */
export function mustFit({ manifest }: Pick<ResolvedAgent, "manifest">, file: MemoryFile, text: string): void {
  const length = lengthOf(text);
  if (length <= file.limit) return;
  throw new Fault(
    "bad-input",
    `${manifest.type} memory file '${file.name}' exceeds character limit (${length} > ${file.limit} chars)`,
    {
      why: [`it is ${length - file.limit} too long; nothing was sent`, ...longestEntry(file, text)],
      data: { length, limit: file.limit },
    },
  );
}

function longestEntry({ entries }: MemoryFile, text: string): string[] {
  const lengths = entriesOf(text).map(lengthOf);
  if (!entries || lengths.length < 2) return [];
  const longest = Math.max(...lengths);
  return [`the longest of its ${lengths.length} entries is the ${lengths.indexOf(longest) + 1}., with ${longest}`];
}

/** What the agent will make of the text that its writer may not expect. */
export function surprisesIn({ manifest, version }: ResolvedAgent, file: MemoryFile, text: string): string[] {
  const parts = file.entries ? entriesOf(text) : [text];
  const hidden = manifest.memory_hidden.filter(({ when }) => inRange(version, when));
  const surprises = parts.flatMap((part, index) => {
    const found = hidden.filter(({ pattern }) => new RegExp(pattern, "iu").test(part)).map(({ means }) => means);
    if (found.length === 0) return [];
    const which = file.entries ? `entry ${index + 1} of ${file.name}` : file.name;
    return [`${manifest.title} will not show ${which} to its model: it holds ${found.join(" and ")}`];
  });
  const kept = [...new Set(parts)].join(separator);
  if (file.entries && kept !== text.trim()) {
    surprises.push(
      `entries of ${file.name} that are empty, twice there, or begin or end with a blank keep ${manifest.title} from changing it`,
    );
  }
  return surprises;
}
