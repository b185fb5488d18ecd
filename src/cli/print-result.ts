import type { Change } from "../agents/plan/change.js";
import type { Fault } from "../errors.js";
import type { Agent } from "../state/agents.js";
import { plain } from "../ui/plain.js";
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

/** The complete output of a command on one of several hosts or agents. */
export function printOutput(
  { ui }: Context,
  name: string,
  output: { stdout: string; stderr: string },
  raw: boolean,
): void {
  const clean = ui.watched && !raw ? plain : (text: string) => text;
  const [stdout, stderr] = [clean(output.stdout), clean(output.stderr)];
  ui.out(`${name}:\n${stdout}${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}`);
  if (stderr !== "") for (const line of stderr.replace(/\n$/, "").split("\n")) ui.say(`${name}: ${line}`);
}

/** A fault after which the command goes on. `subject` begins its sentence. */
export function warnOf({ ui }: Context, fault: Fault, subject = ""): void {
  ui.warn(`${subject}${fault.message} [${fault.code}]`);
  for (const line of detailsOf(fault)) ui.say(`  ${line}`);
}

export const detailsOf = ({ why, next }: Fault): string[] => [...why, ...next.map((each) => `next: ${each}`)];
