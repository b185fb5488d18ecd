import type { GatewayKey } from "../../../gateway/request/gateway-key.js";
import type { Secret } from "../../../secret.js";
import { findGatewayKey } from "../../../state/gateway-keys.js";
import type { Session } from "../../session.js";
import { mustBeActive } from "../active-key.js";
import { keyStoreOf, newSecretFor, tidySigning } from "./secrets.js";

/** Replaces a key's secret. The old one ends at once or after the grace period; one before it ends now. */
export async function rotateGatewayKey(
  session: Session,
  word: string,
  { grace }: { grace: number | undefined },
  handOut: (record: GatewayKey, key: Secret) => void,
): Promise<void> {
  const { gate, now } = session;
  const store = keyStoreOf(session);
  const { id, name } = mustBeActive(findGatewayKey(store.read(), word), now());
  const action = {
    verb: "gateway key rotate",
    target: name,
    summary: `give gateway key ${name} another secret${grace === undefined ? "" : `; the old one ends in ${grace / 1000} s`}`,
  };
  await gate.pass(action, () =>
    session.withFleetLock(async () => {
      const { keys } = store.read();
      const old = mustBeActive(findGatewayKey({ keys }, id), now());
      const others = Object.values(keys).filter((each) => each.id !== id);
      const { key, hash } = await newSecretFor(session, old, others);
      const { former: _, ...kept } = old;
      const record: GatewayKey = {
        ...kept,
        hash,
        rotated_at: now().toISOString(),
        ...(grace !== undefined && {
          former: { hash: old.hash, until: endOf(old, new Date(now().getTime() + grace)) },
        }),
      };
      // Also in the backups: restoring one must not make the old secret valid again.
      const after = await store.update(
        ({ keys, ...rest }) => {
          mustBeActive(findGatewayKey({ keys }, id), now());
          return { ...rest, keys: { ...keys, [id]: record } };
        },
        { forget: true },
      );
      handOut(record, key);
      await tidySigning(session, after, now());
    }),
  );
}

/** No secret is valid longer than its key. */
const endOf = ({ expires_at }: GatewayKey, until: Date): string =>
  expires_at !== undefined && Date.parse(expires_at) < until.getTime() ? expires_at : until.toISOString();
