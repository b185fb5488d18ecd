import { createHash } from "node:crypto";
import type { MemoryFile } from "../../../agents/hermes/memory.js";
import { withItsRights } from "../../../agents/plan/as-agent.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { asAgent } from "../as-agent.js";
import script from "./on-host.sh?raw";

/** A memory file as it was on the host a moment ago. */
export interface Seen {
  file: MemoryFile;
  /** Nothing while the file is missing. */
  found?: { bytes: Buffer; mode: string; owner: string; modified: string };
  /** Of the bytes; `absent` while the file is missing. */
  digest: string;
}

export const absent = "absent";

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Looks at memory files, all in one exec. */
export async function lookAt(session: Session, agent: Agent, files: MemoryFile[]): Promise<Seen[]> {
  const lines = await asAgent(session, agent, {
    ...{ script, words: ["look", ...files.map(({ path }) => path)], about: memoryOf(agent) },
  });
  return files.map((file, index) => seenFrom(agent, file, lines[index] ?? ""));
}

function seenFrom(agent: Agent, file: MemoryFile, line: string): Seen {
  const [state = "", mode = "", owner = "", modified = "", size = "", content = ""] = line.split(" ");
  if (state === absent) return { file, digest: absent };
  if (state === "link" || state === "other") throw inTheWay(agent, file, state, file.path);
  const bytes = Buffer.from(content, "base64");
  if (state !== "file" || bytes.length !== Number(size)) throw unreadable(agent, file, Number(size));
  const at = new Date(Number(modified) * 1000).toISOString();
  return { file, found: { bytes, mode: mode.padStart(4, "0"), owner, modified: at }, digest: digestOf(bytes) };
}

/** Puts a text in the place of what was seen, or takes the file away when there is none. Conflicts change nothing. */
export async function replace(
  session: Session,
  agent: Agent,
  { file, digest }: Seen,
  text: string | undefined,
): Promise<string> {
  const lock = file.lock ? `${file.path}.lock` : "";
  const bytes = Buffer.from(text ?? "");
  const now = text === undefined ? absent : digestOf(bytes);
  const words = text === undefined ? ["delete", file.path, lock, digest] : ["write", file.path, lock, digest, now];
  const [answer = ""] = await asAgent(session, agent, { script, words, stdin: bytes, about: memoryOf(agent) });
  const [result, ...rest] = answer.split(" ");
  if (result === "done") return now;
  throw refusal(agent, file, result ?? "", rest.join(" "));
}

function refusal(agent: Agent, file: MemoryFile, result: string, detail: string): Fault {
  const { name, host } = agent;
  if (result === "conflict") return conflict(agent, file, detail);
  if (result === "link" || result === "other") return inTheWay(agent, file, result, detail || file.path);
  if (result === "busy") {
    return new Fault("locked", `${name} itself has ${file.name} and did not finish within 10 s`, {
      why: `somebody on ${host.name} holds the lock ${file.path}.lock; nothing was changed`,
      next: "the same command again",
    });
  }
  return new Fault("connection-lost", `${file.name} did not arrive whole on ${host.name}`, {
    why: "nothing was changed",
  });
}

export function conflict(agent: Agent, file: MemoryFile, digest: string): Fault {
  return new Fault("conflict", `${file.name} of ${agent.name} has changed since it was read`, {
    why: [digest === absent ? "it is gone now" : "the agent or somebody else wrote it", "nothing was changed"],
    next: `clm agent memory read ${agent.ref} ${file.name}`,
    data: { digest },
  });
}

function inTheWay({ host, record }: Agent, file: MemoryFile, state: string, path: string): Fault {
  return new Fault("remote-failed", `${path} on ${host.name} is ${state === "link" ? "a symbolic link" : "no file"}`, {
    why: `clm follows no links there and leaves what is not ${file.name} alone`,
    next: withItsRights({ host: host.name, user: record.user }, ["ls", "-l", path]),
  });
}

function unreadable({ name, host, record }: Agent, file: MemoryFile, size: number): Fault {
  return new Fault("remote-failed", `${file.name} of ${name} could not be read`, {
    why: size > 0 ? `it is ${size} bytes long, and its limit is ${file.limit} characters` : [],
    next: withItsRights({ host: host.name, user: record.user }, ["ls", "-l", file.path]),
  });
}

const memoryOf = ({ name }: Agent): string => `the memory of ${name}`;
