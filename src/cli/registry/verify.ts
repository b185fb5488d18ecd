import type { Release } from "../../agents/manifest/manifest.js";
import { loadType, loadTypes, releaseOf } from "../../agents/manifest/registry.js";
import { type FaultName, faults, isFault } from "../../errors.js";
import { digestText } from "../../flows/registry/bytes.js";
import { readCache } from "../../flows/registry/cache.js";
import { type Fetching, fetchInstaller } from "../../flows/registry/installer.js";
import { withSession } from "../../flows/session.js";
import type { Handler, View } from "../command.js";
import type { verify } from "./commands.js";

const view: View<Result> = {
  columns: [
    { title: "type", value: (row) => row.type, whole: true },
    { title: "version", value: (row) => row.version, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    { title: "seen", value: (row) => (row.result === "fail" ? "see below" : row.reason) },
  ],
  details: (row) => (row.result === "fail" ? [`${row.type} ${row.version}: ${row.reason}`] : []),
  name: ({ type, version }) => `${type} ${version}`,
};

export const run: Handler<typeof verify> = async ({ args, options }, clm) => {
  const rows = await withSession(clm, (session) => verifyInstallers(session, { ...args, ...options }));
  clm.list(rows, view);
  // Wrong bytes are worse than a failed download, and have the higher code.
  return Math.max(0, ...rows.map(({ fault }) => (fault ? faults[fault].exit : 0)));
};

interface Result {
  type: string;
  version: string;
  result: "ok" | "fail" | "skipped";
  reason: string;
  fault?: FaultName;
}

async function verifyInstallers(
  session: Fetching,
  { type, versions, cached }: { type?: string | undefined; versions: string[]; cached: boolean },
): Promise<Result[]> {
  const types = type === undefined ? await loadTypes(session.configDir) : [await loadType(session.configDir, type)];
  const chosen = types.flatMap(({ manifest }) =>
    (versions.length > 0 ? versions : Object.keys(manifest.versions)).map((version) => ({
      type: manifest.type,
      version,
      release: releaseOf(manifest, version),
    })),
  );
  const results: Result[] = [];
  for (const { release, ...version } of chosen) {
    results.push({ ...version, ...(cached ? verifyCached(session, release) : await verifyFetched(session, release)) });
  }
  return results;
}

type Verdict = Pick<Result, "result" | "reason" | "fault">;

function verifyCached({ configDir }: Fetching, { installer }: Release): Verdict {
  if (!installer) return withoutInstaller;
  const kept = readCache(configDir, installer);
  if (kept.is === "there") return { result: "ok", reason: digestText(installer) };
  if (kept.is === "missing") return { result: "skipped", reason: "not in the cache" };
  return { result: "fail", reason: "the cached copy is damaged; it will be fetched again", fault: "integrity" };
}

const withoutInstaller: Verdict = { result: "skipped", reason: "it has no installer" };

async function verifyFetched(session: Fetching, { installer }: Release): Promise<Verdict> {
  if (!installer) return withoutInstaller;
  try {
    await fetchInstaller(session, installer);
    return { result: "ok", reason: digestText(installer) };
  } catch (error) {
    if (!isFault(error, "integrity", "unreachable")) throw error;
    return { result: "fail", reason: [error.message, ...error.why].join("; "), fault: error.fault };
  }
}
