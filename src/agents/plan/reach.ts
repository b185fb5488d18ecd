import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";

/**
 * Where the service of a provider is, to see whether a host can reach it: scheme, name and port, and nothing that says who
 * asks. Nothing when the manifest does not tell.
 */
export function addressOf({ providers }: Manifest, type: string, fields: Record<string, string>): string | undefined {
  const { test } = (Object.hasOwn(providers, type) && providers[type]) || {};
  const url = (test && fill(test.url, fields)) || fields.endpoint;
  try {
    return url && `${new URL(url).origin}/`;
  } catch {
    return undefined;
  }
}
