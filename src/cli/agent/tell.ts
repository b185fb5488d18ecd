import type { Change } from "../../flows/agent/change.js";
import type { Agent } from "../../state/agents.js";
import type { Context } from "../command.js";
import { identityOf } from "./view.js";

/**
 * What a verb saw of one agent. A program reads one object that begins with who the agent is, whatever the verb; so what
 * is told of several can be a list of these. In a dry run it says so.
 */
export function tell(clm: Context, agent: Agent, seen: object, people: () => void): void {
  if (clm.format === "table") people();
  else if (clm.format === "name") clm.ui.out(`${agent.word}\n`);
  else clm.show({ ...identityOf(agent), ...(clm.dryRun && { dry_run: true }), ...seen }, () => "");
}

/** `unit hermes-ada.service: inactive -> started` */
export const changeText = ({ what, differences }: Change): string => `${what}: ${differences.join(", ")}`;

/** What a dry run found, in words; `already` says how it is when nothing differs. */
export function would(changes: Change[], already?: string): string[] {
  if (changes.length === 0) return already ? [`${already}; nothing would change`] : [];
  return changes.map((change) => `would change ${changeText(change)}`);
}
