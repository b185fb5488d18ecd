import { type InstallResult, installAgent } from "../../flows/agent/install/install.js";
import { ChecksFailed } from "../../flows/checks-failed.js";
import { agentNameFrom } from "../../names.js";
import { agentView, briefCheckView, checkView, nextCommand } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { changeText, dryRunLines, printResult } from "../print-result.js";
import { usage } from "../usage.js";
import type { install } from "./commands.js";

export const run: Handler<typeof install> = async ({ options }, clm) => {
  const { type, host, name, version, port, relaxed, installerFile, noPackages } = options;
  if (host === undefined) throw usage("clm agent install", "--host is missing: name the host to install it on");
  if (name === undefined) throw usage("clm agent install", "--name is missing: name the agent");
  const wanted = {
    type,
    host,
    name: agentNameFrom(name),
    version,
    port,
    relaxed,
    installerFile,
    packages: !noPackages,
  };
  const done = await clm
    .withSession((session) => installAgent(session, wanted))
    .catch((error) => {
      // With -o json the checks are part of the error.
      if (error instanceof ChecksFailed && clm.format === "table") clm.list(error.checks, briefCheckView);
      throw error;
    });
  printInstalled(clm, done);
};

function printInstalled(clm: Context, { agent, ...details }: InstallResult): void {
  const { ui } = clm;
  const { outcome, checks, changes, warnings } = details;
  if (outcome === "would") {
    printResult(clm, agent, details, () => clm.list(checks, checkView));
    for (const line of dryRunLines(changes)) ui.note(line);
    return;
  }
  for (const { id, result, reason } of checks) if (result === "warn") ui.warn(`${id}: ${reason}`);
  for (const line of warnings) ui.warn(`installer: ${line}`);
  if (outcome === "already") ui.note(`${agent.name} is already installed on ${agent.host.name}; nothing was changed`);
  if (outcome === "repaired") for (const change of changes) ui.note(`repaired ${changeText(change)}`);
  const next = nextCommand(agent);
  printResult(clm, agent, { ...details, next }, () => {
    clm.list([agent], agentView(clm));
    ui.note(`next: ${next}`);
  });
}
