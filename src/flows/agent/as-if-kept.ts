import type { Secret } from "../../secret.js";
import { ownerKey, type SecretOwner } from "../../state/secret-owner.js";
import type { Session } from "../session.js";

/** The session as if these secrets had been kept, or forgotten: for a dry run, which keeps none and tells what they would change. */
export function asIfKept(session: Session, instance: SecretOwner, values: Map<string, Secret | undefined>): Session {
  const { secrets } = session;
  const isIts = (of: SecretOwner) => ownerKey(of) === ownerKey(instance);
  return {
    ...session,
    secrets: {
      ...secrets,
      get: (of, name) => (isIts(of) && values.has(name) ? values.get(name) : secrets.get(of, name)),
      names: (of) => {
        const names = secrets.names(of).filter((name) => !isIts(of) || !values.has(name));
        const kept = isIts(of) ? [...values].flatMap(([name, value]) => (value ? [name] : [])) : [];
        return [...names, ...kept];
      },
    },
  };
}
