import { fail, ok, skipped, type Verdict } from "../../agents/check.js";
import { loadType, loadTypes, releaseOf } from "../../agents/manifest/registry.js";
import { type FaultName, faults, isFault } from "../../errors.js";
import { digestText } from "../../flows/registry/bytes.js";
import { readCache } from "../../flows/registry/cache.js";
import { type Fetching, fetchInstaller, type PinnedInstaller } from "../../flows/registry/installer.js";
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

export const run: Handler<typeof verify> = async (input, clm) => {
  const rows = await clm.withSession((session) => verifyInstallers(session, input));
  clm.list(rows, view);
  // Wrong bytes are worse than a failed download, and have the higher code.
  return Math.max(0, ...rows.map(({ fault }) => (fault ? faults[fault].exit : 0)));
};

interface Outcome extends Verdict {
  fault?: FaultName;
}

interface Result extends Outcome {
  type: string;
  version: string;
}

async function verifyInstallers(
  session: Fetching,
  { args: { type, versions }, options: { cached } }: Parameters<Handler<typeof verify>>[0],
): Promise<Result[]> {
  const types = type === undefined ? await loadTypes(session.configDir) : [await loadType(session.configDir, type)];
  const chosen = types.flatMap(({ manifest }) =>
    (versions.length > 0 ? versions : Object.keys(manifest.versions)).map((version) => ({
      type: manifest.type,
      version,
      installer: releaseOf(manifest, version).installer,
    })),
  );
  const verify = cached ? verifyCached : verifyFetched;
  const results: Result[] = [];
  for (const { installer, ...version } of chosen) {
    results.push({ ...version, ...(installer ? await verify(session, installer) : skipped("it has no installer")) });
  }
  return results;
}

function verifyCached({ configDir }: Fetching, installer: PinnedInstaller): Outcome {
  const kept = readCache(configDir, installer);
  if (kept.is === "there") return ok(digestText(installer));
  if (kept.is === "missing") return skipped("not in the cache");
  return { ...fail("the cached copy is damaged; it will be fetched again"), fault: "integrity" };
}

async function verifyFetched(session: Fetching, installer: PinnedInstaller): Promise<Outcome> {
  try {
    await fetchInstaller(session, installer);
    return ok(digestText(installer));
  } catch (error) {
    if (!isFault(error, "integrity", "unreachable")) throw error;
    return { ...fail([error.message, ...error.why].join("; ")), fault: error.fault };
  }
}
