import { lengthOf, memoryFileFrom, memoryText } from "../../../agents/hermes/memory.js";
import { Fault } from "../../../errors.js";
import { agentId } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { inEditor } from "./editor.js";
import { lookAt, type Seen } from "./on-host.js";
import { keeping } from "./rejected.js";
import { fitting, mustSaySomething, put, type Written } from "./write.js";

export interface Editing {
  file: string | undefined;
  /** Nothing may be put in the place of what is there. */
  yes: boolean;
}

/** Edit: what is there, changed by a person, put back if it still is what the person saw. A dry run opens no editor. */
export async function editMemory(session: Session, word: string, { file: name, yes }: Editing): Promise<Written> {
  const target = await targetOf(session, word);
  const { agent } = target;
  const file = memoryFileFrom(target.resolved, name);
  mustHaveEditor(session, agent.ref, file.name);
  const [seen] = await lookAt(session, agent, [file]);
  if (!seen) throw new Error("a file that was looked at was not seen");
  const before = seen.found?.bytes ?? Buffer.alloc(0);
  const unchanged: Written = {
    ...{ agent: agentId(agent), file: file.name, limit: file.limit, digest: seen.digest, changed: false },
    length: lengthOf(before.toString("utf8")),
  };
  if (session.gate.dryRun) {
    session.ui.note(`would edit ${file.name} of ${agentId(agent)}`);
    return unchanged;
  }
  const { bytes, trouble } = await inEditor(session, file.name, before);
  if (bytes.equals(before)) {
    if (trouble) throw new Fault("declined", `${file.name} was not edited`, { why: trouble });
    return unchanged;
  }
  return keeping(session, agent, file, bytes, async () => {
    if (trouble) throw new Fault("declined", `${file.name} was not put back`, { why: trouble });
    session.signal.throwIfAborted();
    if (sameText(seen, bytes)) return unchanged;
    if (!yes) mustSaySomething(target, file, bytes);
    return put(session, target, seen, fitting(session, target, file, bytes), "agent memory edit");
  });
}

/** Editors add a newline at the end whether one is wanted or not. */
function sameText({ file, found }: Seen, bytes: Uint8Array): boolean {
  try {
    return memoryText(file, bytes).text === memoryText(file, found?.bytes ?? Buffer.alloc(0)).text;
  } catch {
    return false;
  }
}

function mustHaveEditor({ env, ui }: Session, agent: string, file: string): void {
  if (ui.interactive || env.VISUAL?.trim() || env.EDITOR?.trim()) return;
  throw new Fault("needs-answer", "there is no terminal to edit on, and $EDITOR names no program that needs none", {
    next: `clm agent memory write ${agent} ${file} --from FILE`,
  });
}
