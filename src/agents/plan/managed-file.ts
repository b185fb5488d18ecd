import type { Secret } from "../../secret.js";
import { leavesOf, type Tree } from "../files/tree.js";

/** One file that clm writes on the host, and how it shares it with others who write to it. */
export interface ManagedFile {
  /** Its name in the record, which keeps what clm owns in it. */
  id: string;
  path: string;
  mode: number;
  /** The agent restarts when its content changes. */
  restarts: boolean;
  /** Directories that clm makes for it, outermost first, for the agent alone. */
  directories?: string[];
  content: FileContent;
}

export type FileContent =
  /** Everything in it is clm's. */
  | { merge: "whole"; text: string | Buffer | Secret }
  /** `.env`: everything in it is clm's. Values never travel to be compared; the host sends salted digests of its lines. */
  | { merge: "variables"; entries: ReadonlyMap<string, string | Secret> }
  /** Keys of a YAML file that the user and the agent write to as well. Paths in `always` are clm's also when not in `tree`. */
  | { merge: "yaml"; tree: Tree; always: readonly string[] }
  /** Worked out from files on the host: `reads` names them, and the file itself under its own id. */
  | { merge: "derived"; reads: Readonly<Record<string, string>>; derive: (sources: Sources) => Derived };

export interface Sources {
  /** The text of one of `reads` on the host; undefined when there is no such file. A file that cannot be read is a fault. */
  read: (name: string) => string | undefined;
  /** A managed file before this one, as it will be. */
  planned: (id: string) => string;
  /** What the record says clm owns in it; undefined when it never wrote it. */
  owned: readonly string[] | undefined;
}

export interface Derived {
  /** The new text; undefined removes the file. */
  text: string | undefined;
  /** Nothing is written: the file is none of clm's business. */
  leave?: boolean;
  owned?: string[];
  /** What a person should know about it. */
  notes?: string[];
  /** For the code of the type that made it. */
  made?: unknown;
}

/** What a probe reads so that a plan can be made of these files. */
export interface FileReads {
  /** The file whose lines are reported as names and salted digests. */
  variables?: string;
  /** Files whose text is reported, by name. */
  texts: Record<string, string>;
}

export function readsOf(files: readonly ManagedFile[]): FileReads {
  const texts: Record<string, string> = {};
  for (const { id, path, content } of files) {
    if (content.merge === "yaml") texts[id] = path;
    if (content.merge === "derived") Object.assign(texts, { [id]: path }, content.reads);
  }
  const variables = files.find(({ content }) => content.merge === "variables")?.path;
  return { texts, ...(variables !== undefined && { variables }) };
}

/** Names of variables, dotted paths or other names that clm owns in a file, as far as that is known before the host is. */
export const ownedIn = ({ content }: ManagedFile): string[] => {
  switch (content.merge) {
    case "variables":
      return [...content.entries.keys()];
    case "yaml":
      return leavesOf(content.tree).map(([path]) => path);
    default:
      return [];
  }
};

/** Files that were all clm's and are no longer wanted, by what the record says clm owns. */
export const unwantedFiles = (owned: Readonly<Record<string, string[]>>, files: readonly ManagedFile[]): string[] =>
  Object.entries(owned)
    .filter(([id]) => !files.some((file) => file.id === id))
    .flatMap(([, names]) => names.filter((name) => name.startsWith("/")));
