import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";

/** The origin of a provider's API, to test whether a host can reach it; undefined when the manifest names none. No credentials. */
export function addressOf({ providers }: Manifest, type: string, fields: Record<string, string>): string | undefined {
  const { test } = (Object.hasOwn(providers, type) && providers[type]) || {};
  const url = (test && fill(test.url, fields)) || fields.endpoint;
  try {
    return url && `${new URL(url).origin}/`;
  } catch {
    return undefined;
  }
}
