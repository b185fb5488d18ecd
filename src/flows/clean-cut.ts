import { hideSecrets } from "./hide-secrets.js";
import type { Session } from "./session.js";

/**
 * Takes all secrets out of a text. Of one whose end is missing it takes more, and says so: a secret that was cut is not known
 * again.
 */
export function cleanCut(session: Session): (text: string, cut: boolean) => string {
  const all = hideSecrets(session);
  // Written in any way, a secret is not longer than this.
  const margin = 64 + 12 * Math.max(0, ...all.map((secret) => secret.reveal().length));
  return (text, cut) => {
    const clean = session.ui.redact(text);
    return cut ? `${clean.slice(0, -margin)} … [cut]` : clean;
  };
}
