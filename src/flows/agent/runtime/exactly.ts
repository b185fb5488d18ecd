import type { Change } from "../../../agents/plan/change.js";
import { withDetails } from "../../../agents/plan/details.js";
import { changesIn, type Plan } from "../../../agents/plan/plan.js";
import { converge } from "../../../remote/operations/converge.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Scene } from "./scene.js";

/** What a plan would change, without changing it: settings files line by line. */
export async function exactly({ session, root }: Scene, plan: Plan): Promise<Change[]> {
  const report = await converge(root, plan.operations, { mode: "check", signal: session.signal });
  const details = { redact: session.ui.redact, secrets: hideSecrets(session), lines: true };
  return changesIn(plan, report).map((change) => withDetails(change, plan, details));
}
