import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../errors.js";
import { attempt, lastLines, run } from "./command.js";
import { withLock } from "./lock.js";
import { mustHaveSpace } from "./machine.js";
import { archiveSettings, debianAmong, parseList, parseSources, sourceFor } from "./mirror.js";
import { paths } from "./names.js";
import { recipe, recipeDigest, settle } from "./recipe.js";
import { discard } from "./root.js";
import type { Release, WorkOptions } from "./types.js";

const homeOf = (release: Release): string => join(paths().cache, `${release}-${recipeDigest(release)}`);

/** Throws when a base has to be made and cannot be kept. */
export async function mustHaveRoomForBase(release: Release): Promise<void> {
  // What an earlier try left goes first, and makes room.
  if (!existsSync(homeOf(release))) await mustHaveRoom(release);
}

const mustHaveRoom = (release: Release) => mustHaveSpace(homeOf(release), 1500, `the ${release} base`);

/** The Debian tree that hosts of a release are laid over; made once, then taken from the cache. */
export async function ensureBase(release: Release, told: WorkOptions): Promise<string> {
  const home = homeOf(release);
  const tree = join(home, "root");
  if (existsSync(tree)) return tree;

  await mkdir(paths().cache, { recursive: true });
  // Not for others to enter: it is full of setuid programs that nobody updates.
  await mkdir(home, { recursive: true, mode: 0o700 });
  const waiting = () => told.progress?.(`waiting for another clm that makes the ${release} base`);
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
  told.progress?.(`${making} (about half a minute)`);
  const settings = join(building, "apt.conf");
  // In a file of root's, because a proxy's password may be in it.
  await writeFile(settings, archiveSettings((await attempt("apt-config", ["dump"])).stdout), { mode: 0o600 });
  const settling = join(building, "settle");
  await writeFile(settling, settle);
  const mirror = await ownMirror(release);
  const step = (line: string) => {
    told.output?.(line);
    const [, doing] = /^I: (.*?)\.\.\.$/.exec(line) ?? [];
    if (doing) told.progress?.(`${making}: ${doing}`);
  };
  // In namespaces of its own that end with it: after a kill, no process and no mount is left, only files.
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
  // Believed from the next rename on, also after a power cut.
  await run("sync", ["--file-system", building]);
}

/** This machine's own way to Debian, asked for a release; undefined leaves it to mmdebstrap. */
async function ownMirror(release: Release): Promise<string | undefined> {
  const system = await readFile("/etc/os-release", "utf8").catch(() => "");
  const codename = /^VERSION_CODENAME="?([a-z]+)/m.exec(system)?.[1];
  // A derivative's mirror has its own releases, not Debian's.
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
