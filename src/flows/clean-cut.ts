import { hideSecrets } from "./hide-secrets.js";
import type { Session } from "./session.js";

/** Redacts secrets. At a cut it removes more than the longest secret, because a partial secret is not recognised. */
export function cleanCut(session: Session): (text: string, cut: boolean) => string {
  const all = hideSecrets(session);
  // No encoding of a secret is longer than this.
  const margin = 64 + 12 * Math.max(0, ...all.map((secret) => secret.reveal().length));
  return (text, cut) => {
    const clean = session.ui.redact(text);
    return cut ? `${clean.slice(0, -margin)} … [cut]` : clean;
  };
}
