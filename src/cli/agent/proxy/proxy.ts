import { Fault } from "../../../errors.js";
import { disableProxy } from "../../../flows/agent/proxy/disable.js";
import { enableProxy } from "../../../flows/agent/proxy/enable.js";
import { proxyStatus } from "../../../flows/agent/proxy/status.js";
import { withSession } from "../../../flows/session.js";
import type { Context, Handler } from "../../command.js";
import { dryRunLines, printResult } from "../print-result.js";
import type { proxy } from "./commands.js";
import { describeStatus, howToReach, plainProxy, plainStatus } from "./view.js";

export const run: Handler<typeof proxy> = async ({ args, options }, clm) => {
  const { name, what } = args;
  const { provider, sudoPasswordFile } = options;
  if (provider !== undefined && what !== "enable") {
    throw new Fault("usage", `--provider is for enable; ${what} takes none`, {
      next: `clm agent proxy ${name} ${what}`,
    });
  }
  const setting = { ...clm, sudoPasswordFile };
  if (what === "enable") await enable(clm, setting, name, provider);
  else if (what === "disable") await disable(clm, setting, name);
  else await status(clm, setting, name);
  return undefined;
};

type Setting = Parameters<typeof withSession>[0];

async function enable(clm: Context, setting: Setting, name: string, provider: string | undefined): Promise<void> {
  const { agent, proxy, changes, upstream } = await withSession(setting, (session) =>
    enableProxy(session, name, provider),
  );
  printResult(clm, agent, { proxy: plainProxy(agent, proxy), ...(upstream && { upstream }), changes }, () => {});
  const already = `${agent.name} lends its login at ${proxy.provider} already`;
  if (clm.dryRun) for (const line of dryRunLines(changes, already)) clm.ui.note(line);
  else if (changes.length === 0) clm.ui.note(`${already}; nothing was changed`);
  else clm.ui.note(`${agent.name} lends its login at ${proxy.provider}: ${proxy.unit}, port ${proxy.port}`);
  if (!clm.dryRun) for (const line of howToReach(agent, proxy)) clm.ui.note(line);
}

async function disable(clm: Context, setting: Setting, name: string): Promise<void> {
  const { agent, changes } = await withSession(setting, (session) => disableProxy(session, name));
  printResult(clm, agent, { changes }, () => {});
  if (clm.dryRun) for (const line of dryRunLines(changes, `${agent.name} has no proxy`)) clm.ui.note(line);
  else if (changes.length === 0) clm.ui.note(`${agent.name} has no proxy; nothing was changed`);
  else clm.ui.note(`${agent.name} lends its login to nobody any more; it stays logged in`);
}

async function status(clm: Context, setting: Setting, name: string): Promise<void> {
  const seen = await withSession(setting, (session) => proxyStatus(session, name));
  printResult(clm, seen.agent, plainStatus(seen), () => clm.ui.out(`${describeStatus(seen)}\n`));
  if (seen.trouble) throw seen.trouble;
  if (seen.proxy) for (const line of howToReach(seen.agent, seen.proxy)) clm.ui.note(line);
}
