import { type Removed, removeAgent } from "../../flows/agent/remove.js";
import { withSession } from "../../flows/session.js";
import type { Context, Handler } from "../command.js";
import type { remove } from "./commands.js";
import { tell } from "./tell.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  const { noBackup, force, forget, sudoPasswordFile } = options;
  const wish = { backup: !noBackup, force, forget };
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => removeAgent(session, args.name, wish));
  if (clm.dryRun) tellWould(clm, done);
  else if (forget) tellForgotten(clm, done);
  else tellRemoved(clm, done);
  const { agent, backedUp, backup, changes, left } = done;
  const now = forget ? "forgotten" : "removed";
  const standing = clm.dryRun ? {} : { state: now, status: now };
  tell(clm, agent, { ...standing, backed_up: backedUp, backup: backup?.path ?? null, changes, left }, () => {});
  return undefined;
};

function tellWould({ ui, configDir }: Context, { agent, backedUp, backup, changes }: Removed): void {
  if (backup) tellBackup(ui, backup);
  else if (backedUp)
    ui.note(`would first copy what ${agent.name} remembers to ${configDir}/backups/agents, without .env`);
  else if (changes.length > 0) ui.note(`would keep nothing of what ${agent.name} remembers`);
  for (const { what } of changes) ui.note(`would remove ${what}`);
}

function tellForgotten({ ui }: Context, { agent, backup }: Removed): void {
  const { unit, user, home } = agent.record;
  if (backup) tellBackup(ui, backup);
  ui.note(`${agent.name} is forgotten; nothing was changed on ${agent.host.name}`);
  ui.note(`may be left there: the unit ${unit}, the account ${user}, its home ${home}`);
}

function tellRemoved({ ui }: Context, { agent, backup, left }: Removed): void {
  for (const thing of left) ui.warn(`left on ${agent.host.name}: ${thing}`);
  if (backup) tellBackup(ui, backup);
  ui.note(`${agent.name} is removed from ${agent.host.name}; packages stay`);
}

const tellBackup = (ui: Context["ui"], { path, members }: NonNullable<Removed["backup"]>): void =>
  ui.note(
    `what it remembered is in ${path} (${members.length} ${members.length === 1 ? "file" : "files"}, without .env)`,
  );
