import { addHost } from "../../flows/host/add.js";
import { hostNameFrom, labelsFrom } from "../../names.js";
import { fingerprintFrom } from "../../text/fingerprint.js";
import type { Handler } from "../command.js";
import type { add } from "./commands.js";
import { identityFrom } from "./options.js";
import { hostView } from "./view.js";

export const run: Handler<typeof add> = async ({ args, options }, clm) => {
  const name = hostNameFrom(args.name);
  const { address = name, port, user, acceptNew } = options;
  const newHost = {
    name,
    address,
    port,
    user,
    identity: identityFrom(options.identity),
    acceptNew,
    fingerprint: options.fingerprint && fingerprintFrom(options.fingerprint),
    labels: Object.fromEntries(labelsFrom(options.label)),
  };
  clm.list([await clm.withSession((session) => addHost(session, newHost))], hostView(clm.now()));
};
