import { lengthOf, type MemoryFile, onlyLists } from "../../../agents/memory/memory.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { mirrorMemory } from "../runtime/mirror.js";
import { type MemoryCopy, type MemoryTarget, memoryTarget, readFiles, replaceFile } from "./memory-files.js";

/** Deletes all files when none is named. Returns the names of those that existed. */
export async function deleteMemory(session: Session, ref: string, name: string | undefined): Promise<string[]> {
  const target = await memoryTarget(session, ref);
  const { agent } = target;
  const existing = (await readFiles(session, target, deletable(target, name))).filter(({ content }) => content);
  if (existing.length === 0) return [];
  const names = existing.map(({ file }) => file.name);
  const action = {
    verb: "agent memory delete",
    target: hostAndName(agent),
    summary: `delete ${names.join(" and ")} of ${agentId(agent)}`,
    question: `Delete ${existing.map(describe).join(" and ")} of ${agentId(agent)}?`,
  };
  await session.gate.pass(action, async () => {
    for (const copy of existing) await replaceFile(session, agent, copy, undefined);
    await mirrorMemory(session, target);
  });
  return names;
}

function deletable(target: MemoryTarget, name: string | undefined): MemoryFile[] {
  const { files, agent, resolved } = target;
  if (name === undefined) return files.filter(({ entries }) => entries);
  const file = target.file(name);
  if (file.entries) return [file];
  const { type, title } = resolved.manifest;
  throw new Fault("bad-input", onlyLists(type, files), {
    why: `${file.name} can be changed, not deleted: ${title} would write its own again`,
    next: `clm agent memory edit ${agent.ref} ${file.name}`,
  });
}

function describe({ file, content }: MemoryCopy): string {
  const entries = content?.entries.length ?? 0;
  return `${file.name} (${entries} ${entries === 1 ? "entry" : "entries"}, ${lengthOf(content?.text ?? "")} characters)`;
}
