import { entriesOf, lengthOf, type MemoryFile, memoryFileFrom, memoryFiles } from "../../../agents/hermes/memory.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { type Target, targetOf } from "../target.js";
import { lookAt, replace, type Seen } from "./on-host.js";
import { tellCodex } from "./tell-codex.js";

/** Delete: one memory file, or all of them when none is named. Returns the names of those that were there. */
export async function deleteMemory(session: Session, word: string, name: string | undefined): Promise<string[]> {
  const target = await targetOf(session, word);
  const { agent } = target;
  const there = (await lookAt(session, agent, filesFor(target, name))).filter(({ found }) => found);
  if (there.length === 0) return [];
  const names = there.map(({ file }) => file.name);
  const action = {
    verb: "agent memory delete",
    target: hostAndName(agent),
    summary: `delete ${names.join(" and ")} of ${agentId(agent)}`,
    question: `Delete ${there.map(described).join(" and ")} of ${agentId(agent)}?`,
  };
  await session.gate.pass(action, async () => {
    for (const seen of there) await replace(session, agent, seen, undefined);
    await tellCodex(session, agent);
  });
  return names;
}

function filesFor({ agent, resolved }: Target, name: string | undefined): MemoryFile[] {
  if (name === undefined) return memoryFiles(resolved).filter(({ entries }) => entries);
  const file = memoryFileFrom(resolved, name);
  if (file.entries) return [file];
  const lists = memoryFiles(resolved).filter(({ entries }) => entries);
  throw new Fault(
    "bad-input",
    `${resolved.manifest.type} memory accepts only ${lists.map((each) => each.name).join(" and ")}`,
    {
      why: `${file.name} is no memory: without it ${resolved.manifest.title} writes its own again; it can be changed, not deleted`,
      next: `clm agent memory edit ${agent.ref} ${file.name}`,
    },
  );
}

function described({ file, found }: Seen): string {
  const text = found?.bytes.toString("utf8") ?? "";
  const entries = entriesOf(text).length;
  return `${file.name} (${entries} ${entries === 1 ? "entry" : "entries"}, ${lengthOf(text)} characters)`;
}
