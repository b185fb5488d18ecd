import type { LoadedType } from "../../agents/manifest/check.js";
import { loadTypes, releaseOf } from "../../agents/manifest/registry.js";
import { readCache } from "../../flows/registry/cache.js";
import type { Handler, View } from "../command.js";
import type { list } from "./commands.js";

const view: View<ReturnType<typeof entryOf>> = {
  columns: [
    { title: "type", value: (entry) => entry.type, whole: true },
    { title: "version", value: (entry) => entry.version, whole: true },
    { title: "reports", value: (entry) => entry.reports },
    { title: "stand-in", value: (entry) => (entry.standin ? "yes" : "no") },
    { title: "default", value: (entry) => entry.default },
    { title: "pinned by", value: (entry) => entry.pinned_by, drop: 2 },
    { title: "cached", value: (entry) => entry.cached, drop: 1 },
  ],
  name: ({ type, version }) => `${type} ${version}`,
};

export const run: Handler<typeof list> = async (_, clm) => {
  const entries = (await loadTypes(clm.configDir)).flatMap((type) =>
    Object.keys(type.manifest.versions).map((version) => entryOf(clm.configDir, type, version)),
  );
  clm.list(entries, view);
};

export function entryOf(configDir: string, { manifest, sources }: LoadedType, version: string) {
  const { reports, standin, installer } = releaseOf(manifest, version);
  const labels = Object.entries(manifest.default_by_label).filter(([, preset]) => preset === version);
  const where = [...(manifest.default === version ? ["yes"] : []), ...labels.map(([label]) => `on ${label} hosts`)];
  const cached = { there: "yes", missing: "no", damaged: "damaged" } as const;
  return {
    type: manifest.type,
    version,
    /** The version number the program itself prints. */
    reports,
    /** A test double for lab hosts. */
    standin,
    default: where.join(", ") || "no",
    pinned_by: sources[version] ?? "built in",
    cached: installer ? cached[readCache(configDir, installer).is] : "no",
  };
}
