import type { Plan } from "../../agents/plan/plan.js";
import { Fault } from "../../errors.js";
import { ownedNames } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Ui } from "../../ui/ui.js";

/** clm owns all of `.env`, but variables that it did not write are not removed without --allow-removal. */
export function mustNotDrop(agent: Agent, { files, observation }: Plan, dryRun: Ui | undefined): void {
  const env = files.find(({ file }) => file.content.merge === "variables");
  if (!env) return;
  const ours = new Set([...(env.owned ?? []), ...(ownedNames(agent.record)[env.file.id] ?? [])]);
  const foreign = [...observation.variables.keys()].filter((name) => !ours.has(name));
  if (foreign.length === 0) return;
  const what = `.env on ${agent.host.name} has variables that clm did not write: ${foreign.join(", ")}`;
  if (dryRun) {
    dryRun.warn(`${what}; removing them needs --allow-removal`);
    return;
  }
  throw new Fault("in-use", what, {
    why: "configuring would remove them; nothing was changed",
    next: [
      ...foreign.slice(0, 3).map((name) => `clm agent secret set ${agent.ref} ${name}`),
      `clm agent configure ${agent.ref} --allow-removal`,
    ],
    data: { variables: foreign },
    flag: "--allow-removal",
  });
}
