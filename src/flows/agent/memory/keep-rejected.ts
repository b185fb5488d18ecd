import { join } from "node:path";
import type { MemoryFile } from "../../../agents/memory/memory.js";
import { asFault, isFault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Agent } from "../../../state/agents.js";
import { writeNew } from "../../../state/atomic-file.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import type { Session } from "../../session.js";

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

export const isBlank = (bytes: Uint8Array): boolean => Buffer.from(bytes).toString("utf8").trim() === "";

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
