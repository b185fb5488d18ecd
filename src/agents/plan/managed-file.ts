import type { Secret } from "../../secret.js";
import { leavesOf, type Tree } from "../files/tree.js";

/** A file that clm writes on the host, and how it is merged with content of others. */
export interface ManagedFile {
  /** Its key in the record's list of owned names. */
  id: string;
  path: string;
  mode: number;
  restarts: boolean;
  /** Directories to create with mode 0700, outermost first. */
  directories?: string[];
  content: FileContent;
}

export type FileContent =
  | { merge: "whole"; text: string | Buffer | Secret }
  /** `.env`, owned by clm as a whole. Values are never read back: the host sends salted digests of its lines. */
  | { merge: "variables"; entries: ReadonlyMap<string, string | Secret> }
  /** Keys of a YAML file that the user and the agent also write to. clm owns `always` even when not in `tree`. */
  | { merge: "yaml"; tree: Tree; always: readonly string[] }
  /** Computed from files on the host: those of `reads`, and the file itself under its own id. */
  | { merge: "derived"; reads: Readonly<Record<string, string>>; derive: (sources: Sources) => Derived };

export interface Sources {
  /** The text of one of `reads`; undefined when the file does not exist. An unreadable file is a fault. */
  read: (name: string) => string | undefined;
  /** The planned text of an earlier managed file. */
  planned: (id: string) => string;
  /** The recorded names clm owns in it; undefined when it never wrote it. */
  owned: readonly string[] | undefined;
}

export interface Derived {
  /** The new text; undefined removes the file. */
  text: string | undefined;
  /** Do not write the file. */
  leave?: boolean;
  owned?: string[];
  notes?: string[];
  /** Data for the agent type's own code. */
  made?: unknown;
}

/** The paths of the files to read on the host, by name. */
export function textsToRead(files: readonly ManagedFile[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const { id, path, content } of files) {
    if (content.merge === "yaml") texts[id] = path;
    if (content.merge === "derived") Object.assign(texts, { [id]: path }, content.reads);
  }
  return texts;
}

/** The variables or dotted paths that clm owns in a file, as far as known before the host is probed. */
export function ownedIn({ content }: ManagedFile): string[] {
  if (content.merge === "variables") return [...content.entries.keys()];
  return content.merge === "yaml" ? leavesOf(content.tree).map(([path]) => path) : [];
}

/** Recorded files that clm owned as a whole and that are no longer desired. */
export const unwantedFiles = (owned: Readonly<Record<string, string[]>>, files: readonly ManagedFile[]): string[] =>
  Object.entries(owned)
    .filter(([id]) => !files.some((file) => file.id === id))
    .flatMap(([, names]) => names.filter((name) => name.startsWith("/")));
