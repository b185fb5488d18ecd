import { readPins } from "../../remote/host-keys/pins.js";
import { findHost, hostStore } from "../../state/hosts.js";
import { fingerprint } from "../../text/fingerprint.js";
import type { Handler } from "../command.js";
import type { show } from "./commands.js";
import { describeHost } from "./view.js";

export const run: Handler<typeof show> = async ({ args }, clm) => {
  const host = findHost(hostStore(clm.configDir).read().hosts, args.name);
  const fingerprints = (await readPins(clm.configDir, host.name)).map((key) => fingerprint(key.blob));
  clm.show({ ...host, fingerprints }, () => describeHost(host, fingerprints, clm.now()));
};
