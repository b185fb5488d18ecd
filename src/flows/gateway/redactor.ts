import { keyless } from "../../gateway/keys/mint.js";
import { stampOf } from "../../state/state-file.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";

/** Removes secrets from texts, also those that another command has just stored, and gateway keys. */
export function redactor(session: Session): (text: string) => string {
  const { ui, secrets, providers } = session;
  const stamp = () => stampOf([secrets.path, providers.path]);
  let seen = stamp();
  hideSecrets(session);
  return (text) => {
    try {
      const now = stamp();
      if (now !== seen) hideSecrets(session);
      seen = now;
    } catch {
      // New requests are refused, because keys cannot be read either; current ones are redacted with the known secrets.
    }
    return keyless(ui.redact(text));
  };
}
