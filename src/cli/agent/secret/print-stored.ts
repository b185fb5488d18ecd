import type { Applied } from "../../../flows/agent/secret/apply.js";
import { agentId } from "../../../state/agents.js";
import type { Context } from "../../command.js";
import { dryRunLines, printResult } from "../print-result.js";
import { nextCommand } from "../view.js";

/** Tells what became of an agent's secrets, and what brings them to the host. */
export function printStored(clm: Context, stored: Applied, apply: boolean): void {
  const { agent, ...seen } = stored;
  if (!clm.dryRun) tellDone(clm, stored);
  else if (apply) {
    for (const line of dryRunLines(seen.changes, `${agent.host.name} is up to date`)) clm.ui.note(line);
  } else if (isSame(stored)) clm.ui.note(`the secrets of ${agentId(agent)} are so already; nothing would change`);
  printResult(clm, agent, seen, () => {});
}

const isSame = ({ set, forgotten }: Applied): boolean => set.length + forgotten.length === 0;

function tellDone({ ui }: Context, stored: Applied): void {
  const { agent, set, forgotten, applied, down } = stored;
  const title = agentId(agent);
  const are = (names: string[]) => `${names.join(", ")} of ${title} ${names.length === 1 ? "is" : "are"}`;
  if (isSame(stored)) ui.note(`the secrets of ${title} are as they were; nothing was changed`);
  if (set.length > 0) ui.note(`${are(set)} set`);
  if (forgotten.length > 0) ui.note(`${are(forgotten)} forgotten`);
  if (applied && down) {
    ui.note(`the host is up to date; ${agent.name} is stopped and stays so`);
    ui.note(`next: ${nextCommand(agent)}`);
  } else if (applied) ui.note(`the host is up to date; ${agent.name} answers`);
  else if (!isSame(stored)) ui.note(`next: clm agent configure ${agent.ref}   # brings it to the host`);
}
