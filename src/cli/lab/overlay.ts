import { readFileSync, rmdirSync, rmSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";
import { defaultStandin, pinnedStandins, type StandinPin, standinType } from "../../lab/standin.js";
import { writeAtomic } from "../../state/atomic-file.js";

/** Makes stand-ins, which need no internet, the default on lab hosts. Files of an older clm are replaced. */
export async function writeOverlay(configDir: string): Promise<void> {
  const { file, folder } = pathsIn(configDir);
  const pinned = pinnedStandins();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const each of pinned) writeIfChanged(installerIn(folder, each), each.bytes);
  writeIfChanged(file, Buffer.from(overlayText(folder, pinned)));
  // Only now: the manifest no longer names the old installers.
  const wanted = pinned.map((each) => installerName(each));
  for (const left of await readdir(folder)) if (!wanted.includes(left)) rmSync(join(folder, left), { recursive: true });
}

export function removeOverlay(configDir: string): void {
  const { file, folder, manifests } = pathsIn(configDir);
  rmSync(file, { force: true });
  rmSync(folder, { recursive: true, force: true });
  try {
    rmdirSync(manifests);
  } catch {
    // It holds the user's manifests, or does not exist.
  }
}

function pathsIn(configDir: string) {
  const manifests = join(configDir, "manifests");
  return { manifests, file: join(manifests, "lab.yaml"), folder: join(manifests, "lab") };
}

const installerName = ({ version }: StandinPin): string => `${standinType}-${version}.sh`;
const installerIn = (folder: string, pinned: StandinPin): string => join(folder, installerName(pinned));

function writeIfChanged(path: string, content: Buffer): void {
  if (!contentOf(path)?.equals(content)) writeAtomic(path, content);
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function overlayText(folder: string, pinned: StandinPin[]): string {
  const versions = pinned.map((each) => {
    const { version, reports, commit, bytes, sha256 } = each;
    const installer = { url: pathToFileURL(installerIn(folder, each)).href, size: bytes.length, sha256 };
    return [version, { reports, commit, installer, standin: true, reach: [] }];
  });
  const overlay = {
    type: standinType,
    default_by_label: { lab: `${defaultStandin}+standin` },
    versions: Object.fromEntries(versions),
  };
  return `# Written by clm lab up, removed by the last clm lab down.\n${stringify(overlay)}`;
}
