import { readFileSync, statSync } from "node:fs";
import { Secret } from "../secret.js";
import { own } from "../text/own-property.js";
import { parseSource } from "./secret-source.js";
import type { Session } from "./session.js";

/** Agents may print any secret. Redacts all that need no prompt; `cmd:` secrets are hidden where they are used. */
export function hideSecrets({ secrets, providers, env, ui }: Session): Secret[] {
  const references = Object.values(providers.read().providers).flatMap((each) => Object.values(each.references ?? {}));
  const all = [...secrets.all(), ...references.flatMap((reference) => valueBehind(reference, env) ?? [])];
  for (const secret of all) ui.hide(secret);
  return all;
}

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

// No secret is that long.
const largest = 64 * 1024;

/** Undefined when there is none: the code that needs it reports that. */
function valueBehind(reference: string, env: NodeJS.ProcessEnv): Secret | undefined {
  try {
    const source = parseSource(reference);
    if (source.kind === "env") {
      const value = own(env, source.name);
      return value ? new Secret(value) : undefined;
    }
    if (source.kind !== "file" || statSync(source.path).size > largest) return undefined;
    const text = readFileSync(source.path, "utf8").trimEnd();
    return text ? new Secret(text) : undefined;
  } catch {
    return undefined;
  }
}
