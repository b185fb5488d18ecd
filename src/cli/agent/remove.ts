import { removeAgent } from "../../flows/agent/remove.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  const { noBackup, force, forget, sudoPasswordFile } = options;
  const wish = { backup: !noBackup, force, forget };
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => removeAgent(session, args.name, wish));
  const { agent, backup, changes, left } = done;
  const { ui } = clm;
  if (clm.dryRun) for (const change of changes) ui.note(`would remove ${change}`);
  else if (forget) {
    const { unit, user, home } = agent.record;
    ui.note(`${agent.name} is forgotten; nothing was changed on ${agent.host.name}`);
    ui.note(`may be left there: the unit ${unit}, the account ${user}, its home ${home}`);
  } else {
    for (const thing of left) ui.warn(`left on ${agent.host.name}: ${thing}`);
    if (backup) ui.note(`what it remembered is in ${backup.path} (${backup.members.length} files, without .env)`);
    ui.note(`${agent.name} is removed from ${agent.host.name}; packages stay`);
  }
  const summary = { name: agent.name, host: agent.host.name, backup: backup?.path ?? null, changes, left };
  clm.show(summary, () => "");
  return undefined;
};
