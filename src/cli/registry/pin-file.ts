import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isCollection, parseDocument } from "yaml";
import type { Release } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import type { Session } from "../../flows/session.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { withLock } from "../../state/lock.js";

export type Pin = Pick<Release, "reports" | "commit"> & { installer: NonNullable<Release["installer"]> };

export const manifestFile = (configDir: string, type: string): string => join(configDir, "manifests", `${type}.yaml`);

const empty = (type: string): string =>
  `# Your own versions, added to the built-in ones. clm registry pin writes here; you may edit it.\ntype: ${type}\n`;

/** Writes a pin into the user's manifest and keeps everything else in it, comments too. */
export async function writePin(
  { configDir, signal }: Pick<Session, "configDir" | "signal">,
  { type, version, reports, commit, installer }: Pin & { type: string; version: string },
): Promise<void> {
  await withLock(configDir, "manifests", { what: "clm registry pin", signal }, (lock) => {
    openSubdirectory(configDir, "manifests");
    const file = manifestFile(configDir, type);
    const document = parseDocument(existsSync(file) ? readFileSync(file, "utf8") : empty(type));
    mustBeAbout(type, document.get("type"), file);
    if (!isCollection(document.get("versions"))) document.set("versions", document.createNode({}));
    const set = (path: string[], value: unknown) => document.setIn(["versions", version, ...path], value);
    // Key by key, to keep other settings of the same version.
    set(["reports"], reports);
    if (commit) set(["commit"], commit);
    for (const [key, value] of Object.entries(installer)) set(["installer", key], value);
    writeAtomic(file, document.toString({ lineWidth: 0 }), { beforeRename: lock.mustBeMine });
  });
}

function mustBeAbout(type: string, actual: unknown, file: string): void {
  if (actual === type) return;
  throw new Fault("bad-input", `${file} is about '${String(actual)}', not ${type}`, {
    why: "rename that file",
  });
}
