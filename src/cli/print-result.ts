import type { Change } from "../agents/plan/change.js";
import type { Agent } from "../state/agents.js";
import { identityOf } from "./agent-view.js";
import type { Context } from "./command.js";

/** Prints the result of a verb for one agent. JSON begins with the agent's identity for every verb. */
export function printResult(clm: Context, agent: Agent, data: object, print: () => void): void {
  if (clm.format === "table") print();
  else if (clm.format === "name") clm.ui.out(`${agent.ref}\n`);
  else clm.show({ ...identityOf(agent), ...(clm.dryRun && { dry_run: true }), ...data });
}

/** `unit ada.service: inactive -> started` */
export const changeText = ({ what, differences }: Change): string =>
  `${what}: ${differences.map(({ text }) => text).join(", ")}`;

/** The lines of a dry run; `already` is printed when nothing would change. */
export function dryRunLines(changes: Change[], already?: string): string[] {
  if (changes.length === 0) return already ? [`${already}; nothing would change`] : [];
  return changes.map((change) => `would change ${changeText(change)}`);
}
