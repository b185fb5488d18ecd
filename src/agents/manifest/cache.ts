import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { VERSION } from "../../version.js";
import type { LoadedType } from "./checked-types.js";
import type { ManifestText } from "./files.js";

/** Put in by the build: a digest of the code. */
declare const __CLM_BUILD__: string;

/**
 * `cache/manifests/<key>.json`: checked types. The key is a digest of all manifest texts and of the code that checked
 * them, so an entry is never out of date. A missing, damaged or foreign entry is rebuilt.
 */
const folder = join("cache", "manifests");
const known = new Map<string, LoadedType[]>();

/** The types of these texts; checked once for this process and, when the config directory is writable, for the next. */
export async function cachedTypes(
  configDir: string,
  texts: ManifestText[],
  check: () => Promise<LoadedType[]>,
): Promise<LoadedType[]> {
  const key = keyOf(texts);
  const kept = known.get(key) ?? readCached(join(configDir, folder, `${key}.json`));
  const types = kept ?? (await check());
  known.set(key, types);
  if (!kept) write(configDir, `${key}.json`, types);
  return types;
}

function write(configDir: string, name: string, types: LoadedType[]): void {
  try {
    if (!lstatSync(configDir, { throwIfNoEntry: false })?.isDirectory()) return;
    openSubdirectory(configDir, "cache");
    const directory = openSubdirectory(configDir, folder);
    rmSync(join(directory, name), { recursive: true, force: true });
    writeAtomic(join(directory, name), JSON.stringify(types));
    for (const other of readdirSync(directory)) {
      if (other.endsWith(".json") && other !== name) rmSync(join(directory, other), { recursive: true, force: true });
    }
  } catch {
    // The next command is only slower.
  }
}

const keyOf = (texts: ManifestText[]): string =>
  createHash("sha256")
    .update(JSON.stringify([VERSION, __CLM_BUILD__, ...texts.flatMap(({ file, text }) => [file, text])]))
    .digest("hex");

/** The cache decides what runs on hosts, like a manifest: only a private file of the user's own is read. */
function readCached(path: string): LoadedType[] | undefined {
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.mode & 0o077 || found.uid !== process.getuid?.()) return undefined;
    const types: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(types) ? types : undefined;
  } catch {
    return undefined;
  }
}
