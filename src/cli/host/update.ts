import { updateHost } from "../../flows/host/update.js";
import { withSession } from "../../flows/session.js";
import { labelsFrom } from "../../names.js";
import type { Handler } from "../command.js";
import type { update } from "./commands.js";
import { identityFrom } from "./identity.js";
import { hostView } from "./view.js";

export const run: Handler<typeof update> = async ({ args, options }, clm) => {
  const { address, port, user, offline, removeLabel } = options;
  const change = {
    address,
    port,
    user,
    identity: identityFrom(options.identity),
    offline,
    labels: Object.fromEntries(labelsFrom(options.label)),
    removeLabels: removeLabel,
  };
  const host = await withSession(clm, (session) => updateHost(session, args.name, change));
  clm.list([host], hostView(clm.now()));
  return undefined;
};
