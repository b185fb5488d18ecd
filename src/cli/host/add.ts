import { fingerprintFrom } from "../../fingerprint.js";
import { addHost } from "../../flows/host/add.js";
import { withSession } from "../../flows/session.js";
import { hostNameFrom, labelsFrom } from "../../names.js";
import type { Handler } from "../command.js";
import type { add } from "./commands.js";
import { identityFrom } from "./identity.js";
import { hostView } from "./view.js";

export const run: Handler<typeof add> = async ({ args, options }, clm) => {
  const name = hostNameFrom(args.name);
  const { address = name, port, user, acceptNew } = options;
  const wish = {
    name,
    address,
    port,
    user,
    identity: identityFrom(options.identity),
    acceptNew,
    fingerprint: options.fingerprint && fingerprintFrom(options.fingerprint),
    labels: Object.fromEntries(labelsFrom(options.label)),
  };
  const host = await withSession(clm, (session) => addHost(session, wish));
  clm.list([host], hostView(clm.now()));
  return undefined;
};
