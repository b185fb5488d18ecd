import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { isOurs, writableByOthers } from "../../state/config-dir.js";

export interface ManifestText {
  file: string;
  text: string;
}

export const builtIn = "built in";

/** The user's manifests, sorted by name. */
export function overlaysIn(configDir: string): ManifestText[] {
  const dir = join(configDir, "manifests");
  const names = namesIn(dir)
    .filter((name) => name.endsWith(".yaml") && !name.startsWith("."))
    .sort();
  // Write access to the directory is enough to add a file.
  if (names.length > 0) mustBeClosed(dir);
  return names.map((name) => {
    const file = join(dir, name);
    mustBeClosed(file);
    return { file, text: readFileSync(file, "utf8") };
  });
}

/** Manifests decide what runs on hosts: only the user or root may be able to change them. */
function mustBeClosed(path: string): void {
  const stat = statSync(path);
  const own = stat.uid === 0 || isOurs(stat, process.geteuid?.() ?? stat.uid, process.env);
  if (own && !writableByOthers(stat)) return;
  throw new Fault("bad-input", own ? `${path} can be written by others` : `${path} belongs to another user`, {
    why: "manifests decide what runs on hosts, so only files that nobody else can change are read",
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
