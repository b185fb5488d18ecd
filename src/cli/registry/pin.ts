import { pinInstaller } from "../../flows/registry/pin.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { pin } from "./commands.js";

export const run: Handler<typeof pin> = async ({ args, options: { installerFile, ...options } }, clm) => {
  const pinned = await withSession(clm, (session) =>
    pinInstaller(session, { ...args, ...options, file: installerFile }),
  );
  if (clm.dryRun) return undefined;
  const { type, version, installer, file, changed } = pinned;
  const digest = `${installer.size} bytes, sha256 ${installer.sha256}`;
  clm.show(pinned, () =>
    changed
      ? `${type} ${version} is pinned to ${digest}\nin ${file}`
      : `${type} ${version} was pinned to ${digest} already`,
  );
  return undefined;
};
