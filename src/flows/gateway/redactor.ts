import { keyless } from "../../gateway/keys/mint.js";
import { stampOf } from "../../state/state-file.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";

/** Hides secrets, and takes them out of texts, also those that another command stored a moment ago, and keys of the gateway. */
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
      // Who asks next is refused, because keys cannot be read either; what is under way is cleaned of what is known.
    }
    return keyless(ui.redact(text));
  };
}
