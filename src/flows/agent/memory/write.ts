import { join } from "node:path";
import { lengthOf, type MemoryFile, mustFit, normalizeText } from "../../../agents/memory/memory.js";
import { asFault, Fault, isFault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import { type Agent, agentId, hostAndName } from "../../../state/agents.js";
import { writeNew } from "../../../state/atomic-file.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import type { Session } from "../../session.js";
import { mirrorMemory } from "../runtime/mirror.js";
import {
  absent,
  conflict,
  type MemoryCopy,
  type MemoryTarget,
  memoryTarget,
  readFile,
  replaceFile,
} from "./memory-files.js";

export interface WriteResult {
  agent: string;
  file: string;
  /** Code points. */
  length: number;
  limit: number;
  digest: string;
  changed: boolean;
}

export interface WriteOptions {
  file: string;
  bytes: Uint8Array;
  /** No other copy of the bytes exists: keep them when they are rejected. */
  only: boolean;
  /** An empty text may replace the file. */
  yes?: boolean | undefined;
  /** The digest the file must have now, or `absent`. */
  ifDigest?: string | undefined;
}

/** The text is checked before the host is called. */
export async function writeMemory(session: Session, ref: string, options: WriteOptions): Promise<WriteResult> {
  const target = await memoryTarget(session, ref);
  const file = target.file(options.file);
  if (!options.yes) mustNotBeBlank(target, file, options.bytes);
  const expected = options.ifDigest && parseDigest(options.ifDigest);
  const work = async () => {
    const text = checkedText(session, target, file, options.bytes);
    const copy = await readFile(session, target, file);
    if (expected && copy.digest !== expected) throw conflict(target.agent, file, copy.digest);
    return replaceIfChanged(session, target, copy, text, "agent memory write");
  };
  return options.only ? keepRejected(session, target.agent, file, options.bytes, work) : work();
}

export function checkedText({ ui }: Session, target: MemoryTarget, file: MemoryFile, bytes: Uint8Array): string {
  const { resolved, format } = target;
  const { text, notes } = normalizeText(file, bytes);
  mustFit(resolved.manifest.type, file, text, format.entriesOf(text));
  for (const line of notes) ui.note(`${file.name}: ${line}`);
  for (const line of format.surprisesIn(resolved, file, text)) ui.warn(line);
  return text;
}

export async function replaceIfChanged(
  session: Session,
  target: MemoryTarget,
  copy: MemoryCopy,
  text: string,
  verb: string,
): Promise<WriteResult> {
  const { agent } = target;
  const { file, content } = copy;
  const unchanged = unchangedResult(agent, copy);
  if (content?.bytes.equals(Buffer.from(text))) return unchanged;
  const length = lengthOf(text);
  const size = `${length} of ${file.limit} characters`;
  const action = {
    verb,
    target: hostAndName(agent),
    summary: `${content ? "replace" : "create"} ${file.name} of ${agentId(agent)} (${size})`,
  };
  const digest = await session.gate.pass(action, () => replaceFile(session, agent, copy, text));
  if (digest === undefined) return { ...unchanged, length };
  await mirrorMemory(session, target);
  return { ...unchanged, length, digest, changed: true };
}

export const unchangedResult = (agent: Agent, { file, content, digest }: MemoryCopy): WriteResult => ({
  agent: agentId(agent),
  file: file.name,
  length: lengthOf(content?.text ?? ""),
  limit: file.limit,
  digest,
  changed: false,
});

/** A pipe whose first program failed is empty, as is an editor's file by accident: neither should erase the memory. */
export function mustNotBeBlank({ agent }: MemoryTarget, { name, entries }: MemoryFile, bytes: Uint8Array): void {
  if (!isBlank(bytes)) return;
  throw new Fault("bad-input", `there is nothing to write to ${name}; nothing was changed`, {
    why: `the text is empty, so ${name} would become empty; confirm with --yes`,
    next: entries ? `clm agent memory delete ${agent.ref} ${name}` : `clm agent memory edit ${agent.ref} ${name}`,
    flag: "--yes",
  });
}

function parseDigest(text: string): string {
  if (text === absent || /^[0-9a-f]{64}$/.test(text)) return text;
  throw new Fault("bad-input", `'${text}' is not a digest`, {
    why: `expected the 64 hex digits that clm agent memory info shows, or '${absent}' for a missing file`,
  });
}

/** Keeps the user's text in a local file when `work` fails, and adds its path to the fault. A dry run keeps nothing. */
export async function keepRejected<T>(
  session: Session,
  agent: Agent,
  file: MemoryFile,
  bytes: Uint8Array,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (session.gate.dryRun || isBlank(bytes)) throw error;
    const fault = asFault(error);
    try {
      const path = keep(session, agent, file, bytes);
      fault.why.push(`what you wrote is kept in ${path}`);
      const again = sh`clm agent memory write ${agent.ref} ${file.name} --from ${path}`;
      // An invalid text would be refused again.
      fault.next.push(isFault(fault, "bad-input") ? `\${EDITOR:-vi} ${sh`${path}`} && ${again}` : again);
      fault.data.kept = path;
    } catch (trouble) {
      session.ui.warn(`what you wrote could not be kept: ${asFault(trouble).message}`);
    }
    throw fault;
  }
}

const isBlank = (bytes: Uint8Array): boolean => Buffer.from(bytes).toString("utf8").trim() === "";

function keep({ configDir, now }: Session, { name, host }: Agent, file: MemoryFile, bytes: Uint8Array): string {
  const directory = openSubdirectory(configDir, "rejected");
  const at = now().toISOString().replace(/[:.]/g, "-");
  const base = `${host.name}-${name}-${file.name.replace(/\.md$/, "")}-${at}`;
  for (let more = 1; ; more++) {
    const path = join(directory, `${base}${more > 1 ? `-${more}` : ""}.md`);
    try {
      writeNew(path, bytes);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || more > 99) throw error;
    }
  }
}
