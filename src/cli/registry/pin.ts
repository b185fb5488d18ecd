import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isCollection, parseDocument } from "yaml";
import type { Manifest, Release } from "../../agents/manifest/manifest.js";
import { loadType } from "../../agents/manifest/registry.js";
import { compareVersions, isVersion, plainVersion } from "../../agents/manifest/versions.js";
import { Fault } from "../../errors.js";
import { type Digest, digestOf, digestText, sameDigest, takeScript } from "../../flows/registry/bytes.js";
import { keepInCache } from "../../flows/registry/cache.js";
import { type FetchOptions, fetchFrom } from "../../flows/registry/installer.js";
import { type Session, withSession } from "../../flows/session.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { withLock } from "../../state/lock.js";
import type { Handler } from "../command.js";
import type { pin } from "./commands.js";

export const run: Handler<typeof pin> = async ({ args, options: { installerFile, ...options } }, clm) => {
  const pinned = await withSession(clm, (session) =>
    pinInstaller(session, { ...args, ...options, file: installerFile }),
  );
  if (clm.dryRun) return undefined;
  const { type, version, installer, file, changed } = pinned;
  const digest = `${installer.size} bytes, sha256 ${installer.sha256}`;
  clm.show(pinned, () =>
    changed
      ? `${type} ${version} is pinned to ${digest}\nin ${file}`
      : `${type} ${version} is already pinned to ${digest}`,
  );
};

type Pin = Pick<Release, "reports" | "commit"> & { installer: NonNullable<Release["installer"]> };

interface PinRequest extends FetchOptions {
  type: string;
  version: string;
  url?: string | undefined;
  commit?: string | undefined;
  reports?: string | undefined;
  /** Allow other bytes for an existing pin. */
  replace: boolean;
}

/** Installers of known versions are far smaller. */
const maxBytes = 8 * 1024 * 1024;

async function pinInstaller(session: Session, request: PinRequest) {
  const { configDir, ui, gate } = session;
  const { type, version } = request;
  mustBeVersion(version);
  if (request.commit !== undefined) mustBeCommit(request.commit);
  const { manifest, sources } = await loadType(configDir, type);
  const file = manifestFile(configDir, type);
  mustBeOurs(version, sources[version], file);
  const before = Object.hasOwn(manifest.versions, version) ? manifest.versions[version] : undefined;
  const url = request.url === undefined ? (before?.installer?.url ?? urlOf(manifest, version)) : urlFrom(request.url);
  const reports = request.reports ?? before?.reports ?? (await askReports(session, version));

  const bytes = await fetchFrom(session, url, request, (from, opened, onBytes) =>
    takeScript(from, opened, maxBytes, (count) => onBytes(`${count} bytes`)),
  );
  const digest = digestOf(bytes);
  const known = before?.installer;
  if (known && !sameDigest(digest, known)) mayBeReplaced(request, { ...before, installer: known }, digest);
  const commit = request.commit ?? before?.commit;
  const pin: Pin = { reports, ...(commit && { commit }), installer: { url, ...digest } };
  const result = { type, version, ...pin, file };
  if (before && isSame(before, pin)) return { ...result, file: sources[version] ?? file, changed: false };

  ui.note(`${request.file ?? url}: ${digestText(digest)}`);
  if (request.file === undefined && url.startsWith("http:")) {
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
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const why =
    !url || !["http:", "https:", "file:"].includes(url.protocol) ? "it must be an http, https or file URL" : "";
  if (url && !why && !url.username && !url.password) return url.href;
  throw new Fault("bad-input", "--url cannot be pinned", {
    why: why || "it contains a password, which must not be stored in a manifest",
  });
}

const askReports = ({ ui }: Session, version: string): Promise<string> =>
  ui.ask({ message: `Which version number does ${version} report (such as 0.18.0)?`, flag: "--reports" });

/** Noticing a tag whose bytes changed is the purpose of a pin. */
function mayBeReplaced({ type, version, replace, commit }: PinRequest, before: Pin, seen: Digest): void {
  if (!replace) {
    throw new Fault("integrity", `${type} ${version} is pinned to other bytes`, {
      why: [`pinned: ${digestText(before.installer)}`, `seen:   ${digestText(seen)}`],
      next: `clm registry pin ${type} ${version} --replace   # only if you know why they changed`,
      data: { expected: { size: before.installer.size, sha256: before.installer.sha256 }, seen },
    });
  }
  if (!before.commit || commit !== undefined) return;
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
