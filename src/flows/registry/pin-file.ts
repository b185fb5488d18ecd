import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isCollection, parseDocument } from "yaml";
import type { Release } from "../../agents/manifest.js";
import { Fault } from "../../errors.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { withLock } from "../../state/lock.js";
import type { Session } from "../session.js";

export type Pin = Pick<Release, "reports" | "commit" | "installer">;

export const manifestFile = (configDir: string, type: string): string => join(configDir, "manifests", `${type}.yaml`);

const empty = (type: string): string =>
  `# Versions of your own, laid over what clm brings. clm registry pin writes here; edit it as you like.\ntype: ${type}\n`;

/** Puts a pin into the user's manifest; everything else in it stays, comments too. */
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
    // Leaf by leaf: what the user said about the version beside these stays.
    set(["reports"], reports);
    if (commit) set(["commit"], commit);
    for (const [key, value] of Object.entries(installer)) set(["installer", key], value);
    writeAtomic(file, document.toString({ lineWidth: 0 }), { beforeRename: lock.mustBeMine });
  });
}

function mustBeAbout(type: string, said: unknown, file: string): void {
  if (said === type) return;
  throw new Fault("bad-input", `${file} is about '${String(said)}', not ${type}`, {
    why: "give that file another name",
  });
}
