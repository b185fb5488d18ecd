import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { isOurs, writableByOthers } from "../../state/config-dir.js";

export interface ManifestText {
  file: string;
  text: string;
}

/** Where the versions that come with clm come from. */
export const builtIn = "built in";

/** The user's own manifests, in the order of their names. */
export function overlaysIn(configDir: string): ManifestText[] {
  const dir = join(configDir, "manifests");
  const names = namesIn(dir)
    .filter((name) => name.endsWith(".yaml") && !name.startsWith("."))
    .sort();
  // Who can write the directory can put a file there.
  if (names.length > 0) mustBeClosed(dir);
  return names.map((name) => {
    const file = join(dir, name);
    mustBeClosed(file);
    return { file, text: readFileSync(file, "utf8") };
  });
}

/** A manifest says what is run on hosts: only its owner, who is the user or root, may be able to change it. */
function mustBeClosed(path: string): void {
  const stat = statSync(path);
  const own = stat.uid === 0 || isOurs(stat, process.geteuid?.() ?? stat.uid, process.env);
  if (own && !writableByOthers(stat)) return;
  throw new Fault("bad-input", own ? `${path} can be written by others` : `${path} belongs to another user`, {
    why: "manifests say what is run on hosts, so they are not read like this",
    next: own ? `chmod go-w ${quote(path)}` : `ls -ld ${quote(path)}`,
    data: { path },
  });
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
