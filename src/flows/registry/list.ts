import { type Loaded, loadType, loadTypes, releaseOf } from "../../agents/registry.js";
import { inRange } from "../../agents/versions.js";
import { readCache } from "./cache.js";

/** A version that can be installed. */
export interface Entry {
  type: string;
  version: string;
  /** What it calls itself. */
  reports: string;
  /** Only behaves like the real one. */
  standin: boolean;
  /** Where it is installed when no version is named: `yes`, `on lab hosts`. */
  default: string;
  /** `built in`, or the file of the user's that pins it. */
  pinned_by: string;
  cached: "yes" | "no" | "damaged";
}

/** Every version of every type, as the manifests say it now. */
export const listRegistry = async (configDir: string): Promise<Entry[]> =>
  (await loadTypes(configDir)).flatMap((loaded) =>
    Object.keys(loaded.manifest.versions).map((version) => entryOf(configDir, loaded, version)),
  );

function entryOf(configDir: string, { manifest, sources }: Loaded, version: string): Entry {
  const { reports, standin, installer } = releaseOf(manifest, version);
  const labels = Object.entries(manifest.default_by_label).filter(([, preset]) => preset === version);
  const where = [...(manifest.default === version ? ["yes"] : []), ...labels.map(([label]) => `on ${label} hosts`)];
  const cached = { there: "yes", missing: "no", damaged: "damaged" } as const;
  return {
    type: manifest.type,
    version,
    reports,
    standin,
    default: where.join(", ") || "no",
    pinned_by: sources[version] ?? "built in",
    cached: cached[readCache(configDir, installer).is],
  };
}

/** Everything about one version of a type; without a version, about the one that is installed when none is named. */
export async function showRegistry(configDir: string, type: string, word?: string) {
  const loaded = await loadType(configDir, type);
  const { manifest } = loaded;
  const version = word ?? manifest.default;
  const { installer, commit } = releaseOf(manifest, version);
  const here = <Part extends { when: string }>(parts: Record<string, Part>) =>
    Object.entries(parts).filter(([, { when }]) => inRange(version, when));
  const titles = (parts: Record<string, { when: string; title: string }>) =>
    here(parts).map(([name, { title }]) => ({ name, title }));
  return {
    ...entryOf(configDir, loaded, version),
    title: manifest.title,
    ...(commit && { commit }),
    installer,
    requires: manifest.requires,
    abilities: Object.entries(manifest.abilities).flatMap(([name, range]) => (inRange(version, range) ? name : [])),
    providers: titles(manifest.providers),
    channels: titles(manifest.channels),
    mcp: titles(manifest.mcp),
    versions: Object.keys(manifest.versions),
  };
}

export type Shown = Awaited<ReturnType<typeof showRegistry>>;
