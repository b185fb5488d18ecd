import { createHash } from "node:crypto";
import { findMemoryFile, type MemoryFile, type MemoryFormat } from "../../../agents/memory/memory.js";
import { asAgent } from "../../../agents/plan/account.js";
import { capability } from "../../../agents/type.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { runAsAgent } from "../run-as-agent.js";
import { type AgentTarget, targetOf } from "../target.js";
import script from "./memory-files.sh?raw";

export interface MemoryTarget extends AgentTarget {
  format: MemoryFormat;
  files: MemoryFile[];
  /** Without a name the first one. */
  file(name: string | undefined): MemoryFile;
}

export interface MemoryCopy {
  file: MemoryFile;
  /** Absent when the file is missing. */
  content?: { bytes: Buffer; text: string; entries: string[]; mode: string; owner: string; modified: string };
  /** SHA-256 of the bytes; `absent` when the file is missing. */
  digest: string;
}

export const absent = "absent";

export async function memoryTarget(session: Session, ref: string): Promise<MemoryTarget> {
  const target = await targetOf(session, ref);
  const { manifest } = target.resolved;
  const format = await capability(manifest, "memory");
  const files = format.files(target.resolved);
  return { ...target, format, files, file: (name) => findMemoryFile(manifest.type, files, name) };
}

/** All in one exec. */
export async function readFiles(session: Session, target: MemoryTarget, files: MemoryFile[]): Promise<MemoryCopy[]> {
  const { agent } = target;
  const words = ["read_files", ...files.map(({ path }) => path)];
  const lines = await runAsAgent(session, agent, { script, words, about: memoryOf(agent) });
  return files.map((file, index) => parseCopy(target, file, lines[index] ?? ""));
}

export async function readFile(session: Session, target: MemoryTarget, file: MemoryFile): Promise<MemoryCopy> {
  const [copy] = await readFiles(session, target, [file]);
  if (!copy) throw new Error(`${file.name} was not read`);
  return copy;
}

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function parseCopy({ agent, format }: MemoryTarget, file: MemoryFile, line: string): MemoryCopy {
  const [state = "", mode = "", owner = "", seconds = "", size = "", base64 = ""] = line.split(" ");
  if (state === absent) return { file, digest: absent };
  if (state === "link" || state === "other") throw notARegularFile(agent, file, state, file.path);
  const bytes = Buffer.from(base64, "base64");
  if (state !== "file" || bytes.length !== Number(size)) throw unreadable(agent, file, Number(size));
  const modified = new Date(Number(seconds) * 1000).toISOString();
  const text = bytes.toString("utf8");
  const entries = file.entries ? format.entriesOf(text) : [];
  const content = { bytes, text, entries, mode: mode.padStart(4, "0"), owner, modified };
  return { file, content, digest: digestOf(bytes) };
}

/** Deletes the file when there is no text. A conflict changes nothing. */
export async function replaceFile(
  session: Session,
  agent: Agent,
  { file, digest }: MemoryCopy,
  text: string | undefined,
): Promise<string> {
  const lock = file.lock ? `${file.path}.lock` : "";
  const bytes = Buffer.from(text ?? "");
  const now = text === undefined ? absent : digestOf(bytes);
  const words = text === undefined ? ["delete", file.path, lock, digest] : ["write", file.path, lock, digest, now];
  const [answer = ""] = await runAsAgent(session, agent, { script, words, stdin: bytes, about: memoryOf(agent) });
  const [result, ...rest] = answer.split(" ");
  if (result === "done") return now;
  throw refusal(agent, file, result ?? "", rest.join(" "));
}

function refusal(agent: Agent, file: MemoryFile, result: string, detail: string): Fault {
  const { name, host } = agent;
  if (result === "conflict") return conflict(agent, file, detail);
  if (result === "link" || result === "other") return notARegularFile(agent, file, result, detail || file.path);
  if (result === "busy") {
    return new Fault("locked", `${name} is writing ${file.name} and did not finish within 10 s`, {
      why: `a process on ${host.name} holds the lock ${file.path}.lock; nothing was changed`,
      next: "the same command again",
    });
  }
  return new Fault("connection-lost", `${file.name} arrived incomplete on ${host.name}`, {
    why: "nothing was changed",
  });
}

export function conflict(agent: Agent, file: MemoryFile, digest: string): Fault {
  return new Fault("conflict", `${file.name} of ${agent.name} has changed since it was read`, {
    why: [
      digest === absent ? "the file no longer exists" : "the agent or another process wrote it",
      "nothing was changed",
    ],
    next: `clm agent memory read ${agent.ref} ${file.name}`,
    data: { digest },
  });
}

function notARegularFile({ host, record }: Agent, file: MemoryFile, state: string, path: string): Fault {
  const what = state === "link" ? "a symbolic link" : "not a regular file";
  return new Fault("remote-failed", `${path} on ${host.name} is ${what}`, {
    why: `clm does not follow links there, and leaves anything that is not ${file.name} alone`,
    next: asAgent({ host: host.name, user: record.user }, ["ls", "-l", path]),
  });
}

function unreadable({ name, host, record }: Agent, file: MemoryFile, size: number): Fault {
  return new Fault("remote-failed", `${file.name} of ${name} could not be read`, {
    why: size > 0 ? `it is ${size} bytes long, and its limit is ${file.limit} characters` : [],
    next: asAgent({ host: host.name, user: record.user }, ["ls", "-l", file.path]),
  });
}

const memoryOf = ({ name }: Agent): string => `the memory of ${name}`;
