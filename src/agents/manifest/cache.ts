import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { VERSION } from "../../version.js";
import type { LoadedType } from "./check.js";
import type { ManifestText } from "./files.js";

/** Put in by the build: a digest of the code. */
declare const __CLM_BUILD__: string;

/**
 * `cache/manifests/<key>.json`: the types as they were found to be in order. The key is a digest of every text they were
 * made of and of the code that checked them, so what is kept is never out of date; and it is no state: what is gone,
 * damaged or not ours is made again.
 */
const folder = join("cache", "manifests");

const known = new Map<string, LoadedType[]>();

/** What these texts say, when that was checked before. */
export function cachedTypes(configDir: string, texts: ManifestText[]): LoadedType[] | undefined {
  const key = keyOf(texts);
  const types = known.get(key) ?? readKept(join(configDir, folder, `${key}.json`));
  if (types) known.set(key, types);
  return types;
}

/** Keeps what was checked, for this process and, where there is a config directory that can be written, the next. */
export function cacheTypes(configDir: string, texts: ManifestText[], types: LoadedType[]): LoadedType[] {
  const key = keyOf(texts);
  known.set(key, types);
  try {
    if (lstatSync(configDir, { throwIfNoEntry: false })?.isDirectory()) write(configDir, `${key}.json`, types);
  } catch {
    // It only takes longer the next time.
  }
  return types;
}

function write(configDir: string, name: string, types: LoadedType[]): void {
  openSubdirectory(configDir, "cache");
  const directory = openSubdirectory(configDir, folder);
  rmSync(join(directory, name), { recursive: true, force: true });
  writeAtomic(join(directory, name), JSON.stringify(types));
  for (const other of readdirSync(directory)) {
    if (other.endsWith(".json") && other !== name) rmSync(join(directory, other), { recursive: true, force: true });
  }
}

const keyOf = (texts: ManifestText[]): string =>
  createHash("sha256")
    .update(JSON.stringify([VERSION, __CLM_BUILD__, ...texts.flatMap(({ file, text }) => [file, text])]))
    .digest("hex");

/** Like a manifest it says what is run on hosts: only a file that we wrote, and nobody else can, is read. */
function readKept(path: string): LoadedType[] | undefined {
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.mode & 0o077 || found.uid !== process.getuid?.()) return undefined;
    const types: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(types) ? types : undefined;
  } catch {
    return undefined;
  }
}
