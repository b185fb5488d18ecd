import { isFault } from "../../errors.js";
import { absent, dir, file, type Operation } from "../../remote/operations/operation.js";
import { Secret } from "../../secret.js";
import { defined } from "../../text/defined.js";
import { dotenvFile } from "../files/dotenv.js";
import { mergeConfig } from "../files/yaml-merge.js";
import { asAgent } from "./account.js";
import { type ManagedFile, ownedIn } from "./managed-file.js";
import { ManualFix } from "./manual-fix.js";
import type { ObservedHost, ObservedText } from "./plan.js";
import type { ResolvedAgent } from "./resolved-agent.js";

export interface PlannedFile {
  file: ManagedFile;
  /** Its text on the host, if the probe read it. */
  before?: string;
  /** The desired text; undefined removes the file. */
  text: string | Buffer | Secret | undefined;
  /** Names that clm owns in it; its path when clm owns all of it. */
  owned?: string[];
  notes: string[];
  made?: unknown;
}

/** Computes each file's text in order: a derived file may read earlier ones. `owned` are the recorded names by file. */
export function planFiles(
  agent: ResolvedAgent,
  files: readonly ManagedFile[],
  { texts }: Pick<ObservedHost, "texts">,
  owned: Readonly<Record<string, string[]>>,
): PlannedFile[] {
  const planned: PlannedFile[] = [];
  for (const file of files) {
    const one = withManualFix(agent, file, () => planFile(agent, file, texts, owned[file.id], planned));
    if (one) planned.push(one);
  }
  return planned;
}

function planFile(
  agent: ResolvedAgent,
  file: ManagedFile,
  texts: ObservedHost["texts"],
  owned: string[] | undefined,
  earlier: readonly PlannedFile[],
): PlannedFile | undefined {
  const { id, path, content } = file;
  switch (content.merge) {
    case "whole":
      return { file, text: content.text, owned: [path], notes: [] };
    case "variables":
      return { file, text: dotenvFile(content.entries), owned: ownedIn(file), notes: [] };
    case "yaml": {
      const before = textOf(agent, path, texts[id]);
      const now = ownedIn(file);
      const gone = [...(owned ?? []).filter((each) => !now.includes(each)), ...content.always];
      const text = mergeConfig(before || undefined, content.tree, gone);
      return { file, ...defined({ before }), text, owned: now, notes: [] };
    }
    case "derived": {
      const paths: Record<string, string> = { ...content.reads, [id]: path };
      const derived = content.derive({
        read: (name) => textOf(agent, paths[name] ?? name, texts[name]),
        planned: (other) => revealed(earlier.find((each) => each.file.id === other)?.text),
        owned,
      });
      if (derived.leave) return undefined;
      const before = textOf(agent, path, texts[id]);
      const { text, notes = [], made } = derived;
      return { file, ...defined({ before, owned: derived.owned }), text, notes, made };
    }
  }
}

const revealed = (text: PlannedFile["text"]): string => (text instanceof Secret ? text.reveal() : String(text ?? ""));

/** The text of a file on the host; undefined when it does not exist. */
export function textOf(agent: ResolvedAgent, path: string, observed: ObservedText | undefined): string | undefined {
  // Treating it as empty would lose the user's own text.
  if (!observed) throw new Error(`${path} was not read`);
  if (!observed.there || observed.text !== undefined) return observed.text;
  throw new ManualFix(`file ${path}`, "remote-failed", `${path} on ${agent.host} cannot be read`, {
    why: "it is a symlink, not text, too large, or owned by another user",
    next: asAgent(agent, ["ls", "-la", path]),
    data: { path },
  });
}

/** A file whose user-written part cannot be kept is left for a person to repair. */
function withManualFix<T>(agent: ResolvedAgent, { path, content }: ManagedFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ManualFix || !isFault(error, "bad-input", "remote-failed")) throw error;
    const { fault, message, why, next, data } = error;
    const fix = content.merge === "yaml" ? [asAgent(agent, ["mv", path, `${path}.broken`])] : next;
    throw new ManualFix(`file ${path}`, fault, message, { why, next: fix, data, cause: error });
  }
}

export function fileOperations(
  { user: owner, unit }: Pick<ResolvedAgent, "user" | "unit">,
  planned: readonly PlannedFile[],
  { restart }: { restart: boolean },
): Operation[] {
  const directories = new Set(planned.flatMap(({ file: { directories = [] } }) => directories));
  return [
    ...[...directories].map((path) => dir(path, { owner, mode: 0o700 })),
    ...planned.map(({ file: { path, mode, restarts }, text }): Operation => {
      if (text === undefined) return absent({ path });
      const secret = text instanceof Secret;
      return file(path, {
        owner,
        mode,
        content: text,
        ...(secret && { secret }),
        ...(restarts && restart && { restarts: unit }),
      });
    }),
  ];
}
