import type { Manifest, Release } from "../../agents/manifest.js";
import { loadType } from "../../agents/registry.js";
import { compareVersions, isVersion, plainVersion } from "../../agents/versions.js";
import { Fault } from "../../errors.js";
import type { Session } from "../session.js";
import { type Digest, digestOf, digestText, sameDigest, takeScript } from "./bytes.js";
import { keepInCache } from "./cache.js";
import { type FetchOptions, fetchFrom } from "./installer.js";
import { manifestFile, type Pin, writePin } from "./pin-file.js";

export interface PinWish extends FetchOptions {
  type: string;
  version: string;
  url?: string | undefined;
  commit?: string | undefined;
  reports?: string | undefined;
  /** An existing pin may get other bytes. */
  replace: boolean;
}

export interface Pinned extends Pin {
  type: string;
  version: string;
  /** The file of the user's that says it now. */
  file: string;
  changed: boolean;
}

/** The installers of all known versions are far below this. */
const most = 8 * 1024 * 1024;

/** Pin: fetches a version's installer, shows what it is, asks, and writes it to the user's own manifest. */
export async function pinInstaller(session: Session, wish: PinWish): Promise<Pinned> {
  const { configDir, ui, gate } = session;
  const { type, version } = wish;
  mustBeVersion(version);
  if (wish.commit !== undefined) mustBeCommit(wish.commit);
  const { manifest, sources } = await loadType(configDir, type);
  const file = manifestFile(configDir, type);
  mustBeOurs(version, sources[version], file);
  const before = Object.hasOwn(manifest.versions, version) ? manifest.versions[version] : undefined;
  const url = wish.url === undefined ? (before?.installer.url ?? urlOf(manifest, version)) : urlFrom(wish.url);
  const reports = wish.reports ?? before?.reports ?? (await askReports(session, version));

  const bytes = await fetchFrom(session, url, wish, (from, opened, onBytes) =>
    takeScript(from, opened, most, (count) => onBytes(`${count} bytes`)),
  );
  const digest = digestOf(bytes);
  const other = before && !sameDigest(digest, before.installer);
  if (other) mayBeReplaced(wish, before, digest);
  const commit = wish.commit ?? before?.commit;
  const pin: Pin = { reports, ...(commit && { commit }), installer: { url, ...digest } };
  const told = { type, version, ...pin, file };
  if (before && isSame(before, pin)) return { ...told, file: sources[version] ?? file, changed: false };

  ui.note(`${wish.file ?? url}: ${digestText(digest)}`);
  if (wish.file === undefined && url.startsWith("http:")) {
    ui.warn("http lets anyone on the way change the bytes: compare the digest with one you trust");
  }
  const deed = {
    verb: "registry pin",
    target: `${type} ${version}`,
    summary: `pin ${type} ${version} to ${digestText(digest)}`,
    question: `Pin ${type} ${version} to these bytes?`,
  };
  await gate.pass(deed, async () => {
    await writePin(session, told);
    keepInCache(configDir, bytes, digest.sha256);
  });
  return { ...told, changed: true };
}

function mustBeVersion(version: string): void {
  if (isVersion(version)) return;
  throw new Fault("bad-input", `'${version}' is not a version`, { why: "a version is written as 2026.7.1" });
}

function mustBeCommit(commit: string): void {
  if (/^[0-9a-f]{40}$/.test(commit)) return;
  throw new Fault("bad-input", `'${commit}' is not a commit`, { why: "a commit is 40 lowercase hex digits" });
}

/** Files are laid over each other by name, so a pin beside another file's might not be the one that counts. */
function mustBeOurs(version: string, source: string | undefined, file: string): void {
  if (source === undefined || source === "built in" || source === file) return;
  throw new Fault("bad-input", `${version} is pinned by ${source}`, { why: "change it there, or take it out there" });
}

/** The newest version's URL, for this one. */
function urlOf(manifest: Manifest, version: string): string {
  const real = Object.entries(manifest.versions).filter(([, { standin }]) => !standin);
  const [newest, release] = real.toSorted(([a], [b]) => compareVersions(a, b)).at(-1) ?? [];
  const url = release?.installer.url ?? "";
  if (newest && url.includes(newest)) return url.replaceAll(newest, plainVersion(version));
  throw new Fault("bad-input", `where the installer of ${version} is cannot be guessed`, { why: "say it with --url" });
}

function urlFrom(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const why =
    !url || !["http:", "https:", "file:"].includes(url.protocol) ? "it should be an http, https or file URL" : "";
  if (url && !why && !url.username && !url.password) return url.href;
  throw new Fault("bad-input", "--url is not one that can be pinned", {
    why: why || "it holds a password, and manifests are no place for one",
  });
}

const askReports = ({ ui }: Session, version: string): Promise<string> =>
  ui.ask({ message: `What does ${version} call itself (as 0.18.0)?`, flag: "--reports" });

/** A tag whose bytes changed is what pins are there to notice. */
function mayBeReplaced({ type, version, replace, commit }: PinWish, before: Release, seen: Digest): void {
  if (!replace) {
    throw new Fault("integrity", `${type} ${version} is pinned to other bytes`, {
      why: [`pinned: ${digestText(before.installer)}`, `seen:   ${digestText(seen)}`],
      next: `clm registry pin ${type} ${version} --replace   # only if you know why they changed`,
      data: { expected: { size: before.installer.size, sha256: before.installer.sha256 }, seen },
    });
  }
  if (!before.commit || commit !== undefined) return;
  throw new Fault("bad-input", `${type} ${version} is pinned with the commit of the bytes it had`, {
    why: `${before.commit}; say the new one with --commit`,
  });
}

const isSame = (before: Release, pin: Pin): boolean =>
  before.reports === pin.reports &&
  before.commit === pin.commit &&
  before.installer.url === pin.installer.url &&
  sameDigest(before.installer, pin.installer);
