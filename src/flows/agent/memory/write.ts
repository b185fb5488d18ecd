import {
  lengthOf,
  type MemoryFile,
  type MemoryText,
  memoryFileFrom,
  memoryText,
  mustFit,
  surprisesIn,
} from "../../../agents/hermes/memory.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { type Target, targetOf } from "../target.js";
import { absent, conflict, lookAt, replace, type Seen } from "./on-host.js";
import { isBlank, keeping } from "./rejected.js";
import { tellCodex } from "./tell-codex.js";

export interface Written {
  agent: string;
  file: string;
  /** Code points, of how many. */
  length: number;
  limit: number;
  digest: string;
  changed: boolean;
}

export interface Writing {
  file: string;
  bytes: Uint8Array;
  /** The bytes are nowhere else: they are kept when they cannot be used. */
  only: boolean;
  /** Nothing may be written in the place of what is there. */
  yes?: boolean | undefined;
  /** What must be there now: the digest `info` told, or `absent`. */
  ifDigest?: string | undefined;
}

/** Write: the whole file anew. Everything that can be wrong with the text is found before the host is called. */
export async function writeMemory(session: Session, word: string, writing: Writing): Promise<Written> {
  const target = await targetOf(session, word);
  const file = memoryFileFrom(target.resolved, writing.file);
  if (!writing.yes) mustSaySomething(target, file, writing.bytes);
  const expected = writing.ifDigest && digestFrom(writing.ifDigest);
  const work = async () => {
    const text = fitting(session, target, file, writing.bytes);
    const [seen] = await lookAt(session, target.agent, [file]);
    if (!seen) throw new Error("a file that was looked at was not seen");
    if (expected && seen.digest !== expected) throw conflict(target.agent, file, seen.digest);
    return put(session, target, seen, text, "agent memory write");
  };
  return writing.only ? keeping(session, target.agent, file, writing.bytes, work) : work();
}

/** The text of these bytes, if the agent can work with it; what is odd about it is told. */
export function fitting({ ui }: Session, { resolved }: Target, file: MemoryFile, bytes: Uint8Array): string {
  const { text, told }: MemoryText = memoryText(file, bytes);
  mustFit(resolved, file, text);
  for (const line of told) ui.note(`${file.name}: ${line}`);
  for (const line of surprisesIn(resolved, file, text)) ui.warn(line);
  return text;
}

/** Puts the text in the place of what was seen, unless that is the same. */
export async function put(
  session: Session,
  { agent }: Target,
  seen: Seen,
  text: string,
  verb: string,
): Promise<Written> {
  const { file } = seen;
  const result = { agent: agentId(agent), file: file.name, length: lengthOf(text), limit: file.limit };
  if (seen.found?.bytes.equals(Buffer.from(text))) return { ...result, digest: seen.digest, changed: false };
  const action = {
    verb,
    target: hostAndName(agent),
    summary: `${seen.found ? "replace" : "create"} ${file.name} of ${agentId(agent)} (${result.length} of ${file.limit} characters)`,
  };
  const digest = await session.gate.pass(action, () => replace(session, agent, seen, text));
  if (digest !== undefined) await tellCodex(session, agent);
  return { ...result, digest: digest ?? seen.digest, changed: digest !== undefined };
}

/** A pipe whose first program failed gives nothing, as an editor may, and nobody meant to forget everything by that. */
export function mustSaySomething({ agent }: Target, { name, entries }: MemoryFile, bytes: Uint8Array): void {
  if (!isBlank(bytes)) return;
  throw new Fault("bad-input", `there is nothing to write to ${name}; nothing was changed`, {
    why: `the text is empty, and ${name} would be too; --yes says that this is meant`,
    next: entries ? `clm agent memory delete ${agent.ref} ${name}` : `clm agent memory edit ${agent.ref} ${name}`,
    data: { flag: "--yes" },
  });
}

function digestFrom(text: string): string {
  if (text === absent || /^[0-9a-f]{64}$/.test(text)) return text;
  throw new Fault("bad-input", `'${text}' is no digest`, {
    why: `it is the 64 hex digits that clm agent memory info shows, or '${absent}' for a file that should not be there`,
  });
}
