import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";
import { attempt, run } from "./command.js";
import { withLock } from "./lock.js";
import { mustHaveSpace } from "./machine.js";
import { archiveSettings, debianAmong, parseList, parseSources, sourceFor } from "./mirror.js";
import { paths } from "./names.js";
import { recipe, recipeDigest, settle } from "./recipe.js";
import { discard } from "./root.js";
import type { Release, WorkOptions } from "./types.js";

const homeOf = (release: Release): string => join(paths().cache, `${release}-${recipeDigest(release)}`);

export async function mustHaveRoomForBase(release: Release): Promise<void> {
  // Removes the rest of an earlier try first, which frees space.
  if (!existsSync(homeOf(release))) await mustHaveRoom(release);
}

const mustHaveRoom = (release: Release) => mustHaveSpace(homeOf(release), 1500, `the ${release} base`);

/** The Debian tree below the hosts of a release; made once, then cached. */
export async function ensureBase(release: Release, told: WorkOptions): Promise<string> {
  const home = homeOf(release);
  const tree = join(home, "root");
  if (existsSync(tree)) return tree;

  await mkdir(paths().cache, { recursive: true });
  // Closed to others: it is full of setuid programs without updates.
  await mkdir(home, { recursive: true, mode: 0o700 });
  const waiting = () => told.progress.update(`waiting for another clm that makes the ${release} base`);
  await withLock(home, { signal: told.signal, waiting }, async () => {
    if (existsSync(tree)) return;
    for (const left of await readdir(home)) await discard(join(home, left));
    await mustHaveRoom(release);
    const building = await mkdtemp(join(home, "building-"));
    try {
      await build(release, building, told);
      await rename(join(building, "root"), tree);
    } finally {
      await discard(building);
    }
  });
  return tree;
}

async function build(release: Release, building: string, told: WorkOptions): Promise<void> {
  const making = `making the ${release} base, once for all labs`;
  told.progress.update(`${making} (about half a minute)`);
  const settings = join(building, "apt.conf");
  // Readable by root only: it may contain a proxy's password.
  await writeFile(settings, archiveSettings((await attempt("apt-config", ["dump"])).stdout), { mode: 0o600 });
  const settling = join(building, "settle");
  await writeFile(settling, settle);
  const mirror = await ownMirror(release);
  const step = (line: string) => {
    told.progress.output(line);
    const [, doing] = /^I: (.*?)\.\.\.$/.exec(line) ?? [];
    if (doing) told.progress.update(`${making}: ${doing}`);
  };
  // In its own namespaces, which end with it: a kill leaves only files, no process and no mount.
  const confined = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const { code, stderr } = await attempt(
    "unshare",
    [
      ...confined,
      "mmdebstrap",
      `--aptopt=${settings}`,
      ...recipe(release, settling),
      join(building, "root"),
      ...(mirror ? ["-"] : []),
    ],
    { signal: told.signal, output: step, input: mirror ?? "", env: { TMPDIR: building } },
  );
  if (code !== 0) {
    throw new Fault("local-setup", `the ${release} base could not be made`, {
      why: lastLines(stderr.replaceAll(/^I: .*$/gm, ""), 6),
      next: "apt-get update",
    });
  }
  // Synced before the rename that makes it valid.
  await run("sync", ["--file-system", building]);
}

/** This machine's Debian mirror, for a release; undefined for mmdebstrap's default. */
async function ownMirror(release: Release): Promise<string | undefined> {
  const system = await readFile("/etc/os-release", "utf8").catch(() => "");
  const codename = /^VERSION_CODENAME="?([a-z]+)/m.exec(system)?.[1];
  // A derivative's mirror does not have Debian's releases.
  if (!/^ID="?debian"?$/m.test(system) || codename === undefined) return undefined;

  const parts = await readdir("/etc/apt/sources.list.d").catch(() => []);
  const files = ["/etc/apt/sources.list", ...parts.sort().map((part) => `/etc/apt/sources.list.d/${part}`)];
  const sources = await Promise.all(
    files.map(async (file) => {
      const parse = file.endsWith(".sources") ? parseSources : file.endsWith(".list") ? parseList : () => [];
      return parse(await readFile(file, "utf8").catch(() => ""));
    }),
  );
  const debian = debianAmong(sources.flat(), codename);
  return debian && sourceFor(release, debian, codename);
}
