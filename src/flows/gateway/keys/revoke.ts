import type { GatewayKey } from "../../../gateway/request/gateway-key.js";
import { findGatewayKey } from "../../../state/gateway-keys.js";
import type { Session } from "../../session.js";
import { keyStoreOf, tidySigning } from "./secrets.js";

/** The key is invalid from the next request on. Its record stays, because the audit log refers to it. */
export async function revokeKey(session: Session, word: string): Promise<{ key: GatewayKey; already: boolean }> {
  const store = keyStoreOf(session);
  const found = findGatewayKey(store.read(), word);
  if (found.revoked_at !== undefined) return { key: found, already: true };
  const { id, name } = found;
  const action = {
    verb: "gateway key revoke",
    target: name,
    summary: `revoke gateway key ${name} (${id})`,
    question: `Revoke gateway key ${name}? It is refused from the next request on.`,
  };
  const after = await session.gate.pass(action, () =>
    session.withFleetLock(async () => {
      const revoked_at = session.now().toISOString();
      // Also in the backups: restoring one must not make the key valid again.
      const changed = await store.update(
        ({ keys, ...rest }) => {
          const { former: _, ...key } = findGatewayKey({ keys }, id);
          return { ...rest, keys: { ...keys, [id]: { ...key, revoked_at: key.revoked_at ?? revoked_at } } };
        },
        { forget: true },
      );
      await tidySigning(session, changed, session.now());
      return changed;
    }),
  );
  return { key: after ? findGatewayKey(after, id) : found, already: false };
}
