import { unitFile } from "../../../agents/unit-file.js";
import { converge } from "../../../remote/operations/converge.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Change } from "../change.js";
import { withDetails } from "../configure/details.js";
import { changesIn, type Plan } from "../configure/on-host.js";
import { shownDiff } from "../configure/shown-diff.js";
import type { Scene } from "./scene.js";

/** What a plan would change, seen without changing it: of the two settings files line by line. */
export async function exactly({ session, root }: Scene, plan: Plan): Promise<Change[]> {
  const { subject, seen, config, salt } = plan;
  const report = await converge(root, plan.wish, { mode: "check", signal: session.signal });
  const service = unitFile(subject, seen.systemd);
  const secrets = hideSecrets(session);
  const lines = shownDiff(seen.config, config, { salt, secrets });
  return changesIn(plan, report)
    .map((change) => withDetails(change, { ...plan, service }, { redact: session.ui.redact, secrets }))
    .map((change) => (change.what === `file ${subject.places.config}` ? { ...change, details: lines } : change));
}
