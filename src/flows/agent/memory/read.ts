import { memoryFileFrom, memoryFiles } from "../../../agents/hermes/memory.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { lookAt, type Seen } from "./on-host.js";

/** Reads memory from the host as it is now: one file, or all of them in one exec. */
export async function readMemory(session: Session, word: string, names: "all" | string | undefined): Promise<Seen[]> {
  const { agent, resolved } = await targetOf(session, word);
  return lookAt(session, agent, names === "all" ? memoryFiles(resolved) : [memoryFileFrom(resolved, names)]);
}
