import { changeSecrets, type SecretChange, type SecretResult } from "../../../flows/agent/secret/change.js";
import type { AgentTarget } from "../../../flows/agent/target.js";
import { type Session, withSession } from "../../../flows/session.js";
import { agentId } from "../../../state/agents.js";
import { nextCommand } from "../../agent-view.js";
import type { Context } from "../../command.js";
import { dryRunLines, printResult } from "../../print-result.js";

/** Changes the secrets of an agent as `changeFor` says, and prints the result. */
export function changeAndPrint(
  clm: Context,
  name: string,
  { apply }: { apply: boolean },
  changeFor: (session: Session, target: AgentTarget) => SecretChange | Promise<SecretChange>,
): Promise<void> {
  return withSession(clm, async (session) => {
    const result = await changeSecrets(session, name, apply, (target) => changeFor(session, target));
    const { agent, ...data } = result;
    for (const line of resultLines(result, apply, clm.dryRun)) clm.ui.note(line);
    printResult(clm, agent, data, () => {});
  });
}

function resultLines(result: SecretResult, apply: boolean, dryRun: boolean): string[] {
  const { agent, set, forgotten, applied, down, changes } = result;
  const same = set.length + forgotten.length === 0;
  if (dryRun && apply) return dryRunLines(changes, `${agent.host.name} is up to date`);
  const already = `the secrets of ${agentId(agent)} are already so`;
  if (dryRun) return same ? [`${already}; nothing would change`] : [];
  const are = (names: string[]) => `${names.join(", ")} of ${agentId(agent)} ${names.length === 1 ? "is" : "are"}`;
  const lines = same ? [`${already}; nothing was changed`] : [];
  if (set.length > 0) lines.push(`${are(set)} set`);
  if (forgotten.length > 0) lines.push(`${are(forgotten)} removed`);
  if (applied && down) {
    lines.push(`the host is up to date; ${agent.name} is stopped and stays stopped`, `next: ${nextCommand(agent)}`);
  } else if (applied) lines.push(`the host is up to date; ${agent.name} answers`);
  else if (!same) lines.push(`next: clm agent configure ${agent.ref}   # writes it to the host`);
  return lines;
}
