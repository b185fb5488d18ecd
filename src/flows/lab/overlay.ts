import { readFileSync, rmdirSync, rmSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defaultStandin, type Pinned, pinnedStandins } from "../../lab/standin.js";
import { writeAtomic } from "../../state/atomic-file.js";

/**
 * The manifest that a lab lays over ours: stand-ins of Hermes that need no way out, and the default on hosts of a lab.
 * It and the installers it pins are this clm's, so those that an older one left are replaced.
 */
export async function writeOverlay(configDir: string): Promise<void> {
  const { file, folder } = placesIn(configDir);
  const pinned = pinnedStandins();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const each of pinned) writeIfOther(installerIn(folder, each), each.bytes);
  writeIfOther(file, Buffer.from(overlayText(folder, pinned)));
  // The manifest names the new ones by now.
  const wanted = pinned.map((each) => installerName(each));
  for (const left of await readdir(folder)) if (!wanted.includes(left)) rmSync(join(folder, left), { recursive: true });
}

export function removeOverlay(configDir: string): void {
  const { file, folder, manifests } = placesIn(configDir);
  rmSync(file, { force: true });
  rmSync(folder, { recursive: true, force: true });
  try {
    rmdirSync(manifests);
  } catch {
    // The user has manifests too, or never had any.
  }
}

function placesIn(configDir: string) {
  const manifests = join(configDir, "manifests");
  return { manifests, file: join(manifests, "lab.yaml"), folder: join(manifests, "lab") };
}

const installerName = ({ version }: Pinned): string => `hermes-${version}.sh`;
const installerIn = (folder: string, pinned: Pinned): string => join(folder, installerName(pinned));

function writeIfOther(path: string, content: Buffer): void {
  if (!contentOf(path)?.equals(content)) writeAtomic(path, content);
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function overlayText(folder: string, pinned: Pinned[]): string {
  const entries = pinned.map(
    (each) => `  ${each.version}:
    reports: ${each.reports}
    commit: ${each.commit}
    installer:
      url: ${JSON.stringify(pathToFileURL(installerIn(folder, each)).href)}
      size: ${each.bytes.length}
      sha256: ${each.sha256}
    standin: true
    reach: []
`,
  );
  return `# Written by clm lab up, removed by the last clm lab down.
type: hermes
default_by_label:
  lab: ${defaultStandin}+standin
versions:
${entries.join("")}`;
}
