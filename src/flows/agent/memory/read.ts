import { memoryFileFrom, memoryFiles } from "../../../agents/memory.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { lookAt, type Seen } from "./on-host.js";

/** Reads memory from the host as it is now: one file, or all of them in one exec. */
export async function readMemory(session: Session, word: string, names: "all" | string | undefined): Promise<Seen[]> {
  const { agent, subject } = await targetOf(session, word);
  return lookAt(session, agent, names === "all" ? memoryFiles(subject) : [memoryFileFrom(subject, names)]);
}
