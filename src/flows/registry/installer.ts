import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Release } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import type { Session } from "../session.js";
import { takePinned } from "./bytes.js";
import { cachePath, dropFromCache, keepInCache, readCache } from "./cache.js";
import { type Opened, openSource, type Timeouts } from "./open.js";

export interface Installer {
  /** In the cache. Hosts get `bytes`, which were checked. */
  path: string;
  bytes: Buffer;
  sha256: string;
}

export interface FetchOptions extends Partial<Timeouts> {
  /** The user's own copy, for machines without internet. Checked like any other. */
  file?: string | undefined;
}

export type Fetching = Pick<Session, "ui" | "configDir" | "signal" | "argv"> & { gate: { dryRun: boolean } };

/** The pinned bytes of a release's installer; otherwise throws and caches nothing. */
export async function fetchInstaller(
  session: Fetching,
  pinned: NonNullable<Release["installer"]>,
  options: FetchOptions = {},
): Promise<Installer> {
  const { configDir, ui, gate } = session;
  const { sha256 } = pinned;
  const path = cachePath(configDir, sha256);
  if (options.file === undefined) {
    const kept = readCache(configDir, pinned);
    if (kept.is === "there") return { path, bytes: kept.bytes, sha256 };
    if (kept.is === "damaged") {
      ui.warn(`${path} is not the installer it was kept as; fetching it again`);
      if (!gate.dryRun) dropFromCache(configDir, sha256);
    }
  }
  const bytes = await fetchFrom(session, pinned.url, options, (from, opened, onBytes) =>
    takePinned(from, opened, pinned, (count) => onBytes(`${count} of ${pinned.size} bytes`)),
  );
  if (!gate.dryRun) keepInCache(configDir, bytes, sha256);
  return { path, bytes, sha256 };
}

/** Opens the user's copy or the URL, with progress. */
export async function fetchFrom(
  { ui, signal, argv }: Fetching,
  url: string,
  { file, idle = 20_000, whole = 300_000 }: FetchOptions,
  take: (from: string, opened: Opened, onBytes: (told: string) => void) => Promise<Buffer>,
): Promise<Buffer> {
  const source = file === undefined ? new URL(url) : pathToFileURL(resolve(file));
  const from = file ?? source.href;
  const progress = ui.progress(`fetch the installer from ${file ?? (source.host || from)}`);
  let opened: Opened | undefined;
  try {
    opened = await openSource(source, { idle, whole }, signal);
    const bytes = await take(from, opened, (told) => progress.update(told));
    progress.done();
    return bytes;
  } catch (error) {
    progress.fail();
    throw error instanceof Fault ? withWayOut(error, argv, file, url) : error;
  } finally {
    opened?.close();
  }
}

/** A copy fetched elsewhere works too, because its digest is checked. */
function withWayOut(fault: Fault, argv: string[], file: string | undefined, url: string): Fault {
  if (file !== undefined && fault.fault === "unreachable") {
    return new Fault("not-found", `${file} cannot be read`, { why: fault.why, data: fault.data, cause: fault });
  }
  if (file === undefined && fault.next.length === 0) {
    const again = ["clm", ...argv.map(quote), "--installer-file", "PATH"].join(" ");
    fault.next.push(`${again}   # a copy of ${url} fetched elsewhere`);
  }
  return fault;
}
