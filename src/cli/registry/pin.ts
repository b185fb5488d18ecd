import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isCollection, parseDocument } from "yaml";
import type { Manifest, Release } from "../../agents/manifest/manifest.js";
import { loadType } from "../../agents/manifest/registry.js";
import { compareVersions, isVersion, plainVersion } from "../../agents/manifest/versions.js";
import { Fault } from "../../errors.js";
import { type Digest, digestOf, digestText, sameDigest } from "../../flows/registry/bytes.js";
import { keepInCache } from "../../flows/registry/cache.js";
import { fetchFrom, type PinnedInstaller } from "../../flows/registry/installer.js";
import type { Session } from "../../flows/session.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { withLock } from "../../state/lock.js";
import type { Handler } from "../command.js";
import type { pin } from "./commands.js";

type Input = Parameters<Handler<typeof pin>>[0];

export const run: Handler<typeof pin> = async (input, clm) => {
  const pinned = await clm.withSession((session) => pinInstaller(session, input));
  if (clm.dryRun) return undefined;
  const { type, version, installer, file, changed } = pinned;
  const digest = digestText(installer);
  clm.show(pinned, () =>
    changed
      ? `${type} ${version} is pinned to ${digest}\nin ${file}`
      : `${type} ${version} is already pinned to ${digest}`,
  );
};

type Pin = Pick<Release, "reports" | "commit"> & { installer: PinnedInstaller };

async function pinInstaller(session: Session, input: Input) {
  const { configDir, ui, gate } = session;
  const { type, version } = input.args;
  const { options } = input;
  mustBeVersion(version);
  if (options.commit !== undefined) mustBeCommit(options.commit);
  const { manifest, sources } = await loadType(configDir, type);
  const manifestPath = manifestFile(configDir, type);
  mustBeOurs(version, sources[version], manifestPath);
  const before = Object.hasOwn(manifest.versions, version) ? manifest.versions[version] : undefined;
  const url = options.url === undefined ? (before?.installer?.url ?? urlOf(manifest, version)) : urlFrom(options.url);
  const question = `Which version number does ${version} report (such as 0.18.0)?`;
  const reports = options.reports ?? before?.reports ?? (await ui.ask({ message: question, flag: "--reports" }));

  const file = options.installerFile;
  const bytes = await fetchFrom(session, url, { file });
  const digest = digestOf(bytes);
  const known = before?.installer;
  if (known && !sameDigest(digest, known)) mayBeReplaced(input, { ...before, installer: known }, digest);
  const commit = options.commit ?? before?.commit;
  const pin: Pin = { reports, ...(commit && { commit }), installer: { url, ...digest } };
  const result = { type, version, ...pin, file: manifestPath };
  if (before && isSame(before, pin)) return { ...result, file: sources[version] ?? manifestPath, changed: false };

  ui.note(`${file ?? url}: ${digestText(digest)}`);
  if (file === undefined && url.startsWith("http:")) {
    ui.warn("http does not protect the download: compare the digest with one you trust");
  }
  const action = {
    verb: "registry pin",
    target: `${type} ${version}`,
    summary: `pin ${type} ${version} to ${digestText(digest)}`,
    question: `Pin ${type} ${version} to these bytes?`,
  };
  await gate.pass(action, async () => {
    await writePin(session, result);
    keepInCache(configDir, bytes, digest.sha256);
  });
  return { ...result, changed: true };
}

function mustBeVersion(version: string): void {
  if (isVersion(version)) return;
  throw new Fault("bad-input", `'${version}' is not a version`, { why: "a version looks like 2026.7.1" });
}

function mustBeCommit(commit: string): void {
  if (/^[0-9a-f]{40}$/.test(commit)) return;
  throw new Fault("bad-input", `'${commit}' is not a commit`, { why: "a commit is 40 lowercase hex digits" });
}

/** Manifests are merged in order of file name, so a second pin might be overridden by the first. */
function mustBeOurs(version: string, source: string | undefined, file: string): void {
  if (source === undefined || source === "built in" || source === file) return;
  throw new Fault("bad-input", `${version} is pinned by ${source}`, { why: "change or remove it there" });
}

/** The newest version's URL with this version put in. */
function urlOf(manifest: Manifest, version: string): string {
  const real = Object.entries(manifest.versions).filter(([, { standin }]) => !standin);
  const [newest, release] = real.toSorted(([a], [b]) => compareVersions(a, b)).at(-1) ?? [];
  const url = release?.installer?.url ?? "";
  if (newest && url.includes(newest)) return url.replaceAll(newest, plainVersion(version));
  throw new Fault("bad-input", `the URL of the installer of ${version} is unknown`, { why: "pass it with --url" });
}

function urlFrom(text: string): string {
  const bad = (why: string) => new Fault("bad-input", "--url cannot be pinned", { why });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:", "file:"].includes(url.protocol)) throw bad("it must be an http, https or file URL");
  if (url.username || url.password) throw bad("it contains a password, which must not be stored in a manifest");
  return url.href;
}

/** Noticing a tag whose bytes changed is the purpose of a pin. */
function mayBeReplaced({ args: { type, version }, options }: Input, before: Pin, seen: Digest): void {
  if (!options.replace) {
    throw new Fault("integrity", `${type} ${version} is pinned to other bytes`, {
      why: [`pinned: ${digestText(before.installer)}`, `seen:   ${digestText(seen)}`],
      next: `clm registry pin ${type} ${version} --replace   # only if you know why they changed`,
      data: { expected: { size: before.installer.size, sha256: before.installer.sha256 }, seen },
    });
  }
  if (!before.commit || options.commit !== undefined) return;
  throw new Fault("bad-input", `the pin of ${type} ${version} names the commit of the old bytes`, {
    why: `${before.commit}; pass the new one with --commit`,
  });
}

const isSame = (before: Release, pin: Pin): boolean =>
  before.reports === pin.reports &&
  before.commit === pin.commit &&
  before.installer?.url === pin.installer.url &&
  sameDigest(before.installer, pin.installer);

const manifestFile = (configDir: string, type: string): string => join(configDir, "manifests", `${type}.yaml`);

const empty = (type: string): string =>
  `# Your own versions, added to the built-in ones. clm registry pin writes here; you may edit it.\ntype: ${type}\n`;

/** Writes a pin into the user's manifest and keeps everything else in it, comments too. */
async function writePin(
  { configDir, signal }: Pick<Session, "configDir" | "signal">,
  { type, version, reports, commit, installer }: Pin & { type: string; version: string },
): Promise<void> {
  await withLock(configDir, "manifests", { what: "clm registry pin", signal }, (lock) => {
    openSubdirectory(configDir, "manifests");
    const file = manifestFile(configDir, type);
    const document = parseDocument(existsSync(file) ? readFileSync(file, "utf8") : empty(type));
    const other = document.get("type");
    if (other !== type) {
      throw new Fault("bad-input", `${file} is about '${other}', not ${type}`, { why: "rename that file" });
    }
    if (!isCollection(document.get("versions"))) document.set("versions", document.createNode({}));
    const set = (path: string[], value: unknown) => document.setIn(["versions", version, ...path], value);
    // Key by key, to keep other settings of the same version.
    set(["reports"], reports);
    if (commit) set(["commit"], commit);
    for (const [key, value] of Object.entries(installer)) set(["installer", key], value);
    writeAtomic(file, document.toString({ lineWidth: 0 }), { beforeRename: lock.mustBeMine });
  });
}
