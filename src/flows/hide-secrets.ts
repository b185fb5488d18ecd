import { readFileSync, statSync } from "node:fs";
import { Secret } from "../secret.js";
import { own } from "../text/own-property.js";
import { parseSource } from "./secret-source.js";
import type { Session } from "./session.js";

/**
 * Hides every secret that clm can have without asking anybody: whatever an agent says, keeps or is told may hold any of
 * them. What a `cmd:` would give is not fetched for it, which may ask a person; it is hidden where it is used. Returns them.
 */
export function hideSecrets({ secrets, providers, env, ui }: Session): Secret[] {
  const references = Object.values(providers.read().providers).flatMap((each) => Object.values(each.references ?? {}));
  const all = [...secrets.all(), ...references.flatMap((reference) => valueBehind(reference, env) ?? [])];
  for (const secret of all) ui.hide(secret);
  return all;
}

// No key is that long.
const largest = 64 * 1024;

/** Nothing where there is none: whoever needs it will say so. */
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
