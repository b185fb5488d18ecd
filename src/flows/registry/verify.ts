import type { Release } from "../../agents/manifest.js";
import { loadType, loadTypes, releaseOf } from "../../agents/registry.js";
import { type FaultName, isFault } from "../../errors.js";
import { digestText } from "./bytes.js";
import { readCache } from "./cache.js";
import { type Fetching, fetchInstaller } from "./installer.js";

/** What became of one version's installer. */
export interface Verified {
  type: string;
  version: string;
  result: "ok" | "fail" | "skipped";
  reason: string;
  fault?: FaultName;
}

export interface Choice {
  type?: string | undefined;
  versions: string[];
  /** Only what is kept on this machine. */
  cached: boolean;
}

/** Verify: every installer is fetched, or the kept copy hashed again, and compared with its pin. */
export async function verifyRegistry(session: Fetching, { type, versions, cached }: Choice): Promise<Verified[]> {
  const types = type === undefined ? await loadTypes(session.configDir) : [await loadType(session.configDir, type)];
  const chosen = types.flatMap(({ manifest }) =>
    (versions.length > 0 ? versions : Object.keys(manifest.versions)).map((version) => ({
      type: manifest.type,
      version,
      release: releaseOf(manifest, version),
    })),
  );
  const verified: Verified[] = [];
  for (const { release, ...which } of chosen) {
    const found = cached ? verifyKept(session, release) : await verifyOne(session, release);
    verified.push({ ...which, ...found });
  }
  return verified;
}

type Found = Pick<Verified, "result" | "reason" | "fault">;

function verifyKept({ configDir }: Fetching, { installer }: Release): Found {
  const kept = readCache(configDir, installer);
  if (kept.is === "there") return { result: "ok", reason: digestText(installer) };
  if (kept.is === "missing") return { result: "skipped", reason: "not kept on this machine" };
  return { result: "fail", reason: "the kept copy is damaged; it will be fetched again", fault: "integrity" };
}

async function verifyOne(session: Fetching, release: Release): Promise<Found> {
  try {
    await fetchInstaller(session, release);
    return { result: "ok", reason: digestText(release.installer) };
  } catch (error) {
    if (!isFault(error, "integrity", "unreachable")) throw error;
    return { result: "fail", reason: [error.message, ...error.why].join("; "), fault: error.fault };
  }
}
