import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Release } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import type { Session } from "../session.js";
import { withProgress } from "../with-progress.js";
import { type Digest, mustBePinned, mustBeScript } from "./bytes.js";
import { cachePath, dropFromCache, keepInCache, readCache } from "./cache.js";
import { readSource, type Timeouts } from "./read-source.js";

export type PinnedInstaller = NonNullable<Release["installer"]>;

/** Checked bytes, as they go to hosts. */
export interface Installer {
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
  pinned: PinnedInstaller,
  options: FetchOptions = {},
): Promise<Installer> {
  const { configDir, ui, gate } = session;
  const { sha256 } = pinned;
  if (options.file === undefined) {
    const kept = readCache(configDir, pinned);
    if (kept.is === "there") return { bytes: kept.bytes, sha256 };
    if (kept.is === "damaged") {
      ui.warn(`${cachePath(configDir, sha256)} is not the installer it was kept as; fetching it again`);
      if (!gate.dryRun) dropFromCache(configDir, sha256);
    }
  }
  const bytes = await fetchFrom(session, pinned.url, options, pinned);
  if (!gate.dryRun) keepInCache(configDir, bytes, sha256);
  return { bytes, sha256 };
}

// Installers of known versions are far smaller.
const maxUnpinned = 8 * 1024 * 1024;

/** Reads the user's copy or the URL: the pinned bytes, or without a pin any shell script. */
export async function fetchFrom(
  { ui, signal, argv }: Fetching,
  url: string,
  { file, idle = 20_000, whole = 300_000 }: FetchOptions,
  pinned?: Digest,
): Promise<Buffer> {
  const source = file === undefined ? new URL(url) : pathToFileURL(resolve(file));
  const from = file ?? source.href;
  const total = pinned ? ` of ${pinned.size}` : "";
  try {
    return await withProgress(ui, `fetch the installer from ${file ?? (source.host || from)}`, async (progress) => {
      const onBytes = (count: number) => progress.update(`${count}${total} bytes`);
      const maxBytes = pinned?.size ?? maxUnpinned;
      const received = await readSource(source, { idle, whole, signal, maxBytes, onBytes });
      if (pinned) mustBePinned(from, received, pinned);
      else mustBeScript(from, received);
      return received.bytes;
    });
  } catch (error) {
    throw error instanceof Fault ? withWayOut(error, argv, file, url) : error;
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
