import type { Change } from "../../../agents/plan/change.js";
import { withDetails } from "../../../agents/plan/details.js";
import { changesIn, type Plan } from "../../../agents/plan/plan.js";
import { shownDiff } from "../../../agents/plan/shown-diff.js";
import { unitFile } from "../../../agents/plan/unit-file.js";
import { converge } from "../../../remote/operations/converge.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Scene } from "./scene.js";

/** What a plan would change, seen without changing it: of the two settings files line by line. */
export async function exactly({ session, root }: Scene, plan: Plan): Promise<Change[]> {
  const { resolved: agent, seen, config, salt } = plan;
  const report = await converge(root, plan.wish, { mode: "check", signal: session.signal });
  const service = unitFile(agent, seen.systemd);
  const secrets = hideSecrets(session);
  const lines = shownDiff(seen.config, config, { salt, secrets });
  return changesIn(plan, report)
    .map((change) => withDetails(change, { ...plan, service }, { redact: session.ui.redact, secrets }))
    .map((change) => (change.what === `file ${agent.paths.config}` ? { ...change, details: lines } : change));
}
