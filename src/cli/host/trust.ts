import { fingerprintFrom } from "../../fingerprint.js";
import { trustHost } from "../../flows/host/trust.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { trust } from "./commands.js";

export const run: Handler<typeof trust> = async ({ args, options }, clm) => {
  const fingerprint = options.fingerprint && fingerprintFrom(options.fingerprint);
  const { name, after, changed } = await withSession(clm, (session) => trustHost(session, args.name, fingerprint));
  if (!changed) clm.ui.note(`${name} still shows the pinned key ${after}`);
  else if (!clm.dryRun) clm.ui.note(`${name} is pinned to ${after}`);
  return undefined;
};
