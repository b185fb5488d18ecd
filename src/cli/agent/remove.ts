import { type RemoveResult, removeAgent } from "../../flows/agent/remove/remove.js";
import type { Handler } from "../command.js";
import { runOnAgents } from "../run-on-agents.js";
import { remove } from "./commands.js";

export const run: Handler<typeof remove> = ({ args, options }, clm) => {
  const { noBackup, force, forget } = options;
  const now = forget ? "forgotten" : "removed";
  const state = clm.dryRun ? {} : { state: now, status: now };
  return runOnAgents(remove, { args, options }, clm, {
    lines: clm.dryRun ? wouldRemove : forget ? forgotten : removed,
    run: async (session, ref) => {
      const done = await removeAgent(session, ref, { backup: !noBackup, force, forget });
      for (const thing of done.left) session.ui.warn(`left on ${done.agent.host.name}: ${thing}`);
      return done;
    },
    json: ({ backedUp, backup, changes, left }) => ({
      ...state,
      backed_up: backedUp,
      backup: backup?.path ?? null,
      changes,
      left,
    }),
    confirm: ({ length }) =>
      forget
        ? `This forgets ${length} agents and their keys; nothing is changed on their hosts`
        : `This removes ${length} agents with their accounts, their files and their keys`,
  });
};

const wouldRemove = ({ agent, backedUp, backup, changes }: RemoveResult): string[] => [
  ...backupLines(backup),
  ...(!backup && !backedUp && changes.length > 0 ? [`would not back up the data of ${agent.name}`] : []),
  ...changes.map(({ what }) => `would remove ${what}`),
];

function forgotten({ agent, backup }: RemoveResult): string[] {
  const { unit, user, home } = agent.record;
  return [
    ...backupLines(backup),
    `${agent.name} is forgotten; nothing was changed on ${agent.host.name}`,
    `may be left there: the unit ${unit}, the account ${user}, its home ${home}`,
  ];
}

const removed = ({ agent, backup }: RemoveResult): string[] => [
  ...backupLines(backup),
  `${agent.name} is removed from ${agent.host.name}; installed packages stay`,
];

function backupLines(backup: RemoveResult["backup"]): string[] {
  if (!backup) return [];
  const { length } = backup.members;
  return [`its data is backed up in ${backup.path} (${length} ${length === 1 ? "file" : "files"}, without .env)`];
}
