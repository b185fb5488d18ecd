import { normalizeText } from "../../../agents/memory/memory.js";
import { Fault } from "../../../errors.js";
import { agentId } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { inEditor } from "./editor.js";
import { type MemoryCopy, memoryTarget, readFile } from "./memory-files.js";
import {
  checkedText,
  keepRejected,
  mustNotBeBlank,
  replaceIfChanged,
  unchangedResult,
  type WriteResult,
} from "./write.js";

export interface EditOptions {
  file: string | undefined;
  /** An empty text may replace the file. */
  yes: boolean;
}

/** Written back unless the file changed on the host. A dry run opens no editor. */
export async function editMemory(session: Session, ref: string, options: EditOptions): Promise<WriteResult> {
  const target = await memoryTarget(session, ref);
  const { agent } = target;
  const file = target.file(options.file);
  mustHaveEditor(session, agent.ref, file.name);
  const copy = await readFile(session, target, file);
  const before = copy.content?.bytes ?? Buffer.alloc(0);
  const unchanged = unchangedResult(agent, copy);
  if (session.gate.dryRun) {
    session.ui.note(`would edit ${file.name} of ${agentId(agent)}`);
    return unchanged;
  }
  const { bytes, trouble } = await inEditor(session, file.name, before);
  if (bytes.equals(before)) {
    if (trouble) throw new Fault("declined", `${file.name} was not edited`, { why: trouble });
    return unchanged;
  }
  return keepRejected(session, agent, file, bytes, async () => {
    if (trouble) throw new Fault("declined", `${file.name} was not written back`, { why: trouble });
    session.signal.throwIfAborted();
    if (isSameText(copy, bytes)) return unchanged;
    if (!options.yes) mustNotBeBlank(target, file, bytes);
    return replaceIfChanged(session, target, copy, checkedText(session, target, file, bytes), "agent memory edit");
  });
}

/** Editors add a newline at the end whether one is wanted or not. */
function isSameText({ file, content }: MemoryCopy, bytes: Uint8Array): boolean {
  try {
    return normalizeText(file, bytes).text === normalizeText(file, content?.bytes ?? Buffer.alloc(0)).text;
  } catch {
    return false;
  }
}

function mustHaveEditor({ env, ui }: Session, ref: string, file: string): void {
  if (ui.interactive || env.VISUAL?.trim() || env.EDITOR?.trim()) return;
  throw new Fault("needs-answer", "there is no terminal to edit on, and $EDITOR is not set", {
    next: `clm agent memory write ${ref} ${file} --from FILE`,
  });
}
