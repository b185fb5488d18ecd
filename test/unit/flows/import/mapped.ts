import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { convertFleet, keyFile } from "../../../../src/flows/import/clawrium/convert-fleet.js";
import { oldFiles, readFleet, type Texts } from "../../../../src/flows/import/clawrium/read-fleet.js";
import { providerTypes } from "../../../../src/flows/provider/types.js";
import { ownerKey } from "../../../../src/state/secret-owner.js";
import type { Era } from "./old-directory.js";

export function textsOf(era: Era): Texts {
  const directory = resolve("test/cases/import", era);
  const files = oldFiles.filter((file) => existsSync(join(directory, file)));
  const keys = readdirSync(join(directory, "keys"));
  return {
    directory,
    files: Object.fromEntries(files.map((file) => [file, readFileSync(join(directory, file), "utf8")])),
    keys: Object.fromEntries(keys.map((id) => [id, readFileSync(join(directory, keyFile(id)), "utf8")])),
  };
}

const { manifest } = await loadType("/nowhere", "hermes");
const types = await providerTypes("/nowhere");

/** What becomes of a directory of Clawrium's, as plain data with its secrets in sight. */
export function mapped(era: Era, hostNames: string[] = []) {
  const taken = convertFleet({
    old: readFleet(textsOf(era)),
    manifest,
    types,
    hostNames,
    configDir: "/config",
    now: "2026-06-01T00:00:00.000Z",
  });
  const secrets: Record<string, string> = {};
  for (const { instance, name, value } of taken.secrets) secrets[`${ownerKey(instance)} ${name}`] = value.reveal();
  const { rows, hosts, providers, gone, keys } = taken;
  return { rows, hosts, providers, secrets, gone, keys };
}
