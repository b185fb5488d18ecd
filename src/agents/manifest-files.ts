import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../errors.js";

export interface ManifestText {
  file: string;
  text: string;
}

/** Where the versions that come with clm come from. */
export const builtIn = "built in";

/** The user's own manifests, in the order of their names. */
export function overlaysIn(configDir: string): ManifestText[] {
  const dir = join(configDir, "manifests");
  return namesIn(dir)
    .filter((name) => name.endsWith(".yaml") && !name.startsWith("."))
    .sort()
    .map((name) => {
      const file = join(dir, name);
      // It says what is run on hosts.
      if (statSync(file).mode & 0o002)
        throw new Fault("bad-input", `${file} can be written by everyone`, {
          why: "it says what is run on hosts, so it is not read like this",
          next: `chmod o-w ${file}`,
        });
      return { file, text: readFileSync(file, "utf8") };
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
