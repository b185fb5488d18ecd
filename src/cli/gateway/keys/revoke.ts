import { revokeKey } from "../../../flows/gateway/keys/revoke.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { revoke } from "./commands.js";

export const run: Handler<typeof revoke> = async ({ args }, clm) => {
  const { key, already } = await withSession(clm, (session) => revokeKey(session, args.key));
  if (clm.dryRun && !already) return undefined;
  const { id, name, revoked_at } = key;
  clm.show({ id, name, revoked_at, already }, () =>
    already ? `${name} (${id}) was revoked at ${revoked_at}` : `${name} (${id}) is revoked`,
  );
};
