import type { Applied } from "../../../flows/agent/secret/apply.js";
import type { Context } from "../../command.js";

/** Tells what became of an agent's secrets, and what brings them to the host. */
export function tellStored(clm: Context, stored: Applied, name: string): void {
  if (clm.format !== "table") clm.show(stored, () => "");
  if (clm.format !== "table" || clm.dryRun) return;
  const { agent, changed, applied, down } = stored;
  if (changed.length === 0) clm.ui.note(`the secrets of ${agent} are as they were; nothing was changed`);
  else clm.ui.note(`${changed.join(", ")} of ${agent} ${changed.length === 1 ? "is" : "are"} changed`);
  if (applied)
    clm.ui.note(down ? `the host has it; ${name} is stopped and stays so` : `the host has it; ${name} answers`);
  else if (changed.length > 0) clm.ui.note(`next: clm agent configure ${name}   # puts it on the host`);
}
