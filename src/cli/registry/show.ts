import type { LoadedType } from "../../agents/manifest/checked-types.js";
import { loadType, loadTypes, releaseOf } from "../../agents/manifest/registry.js";
import { inRange } from "../../agents/manifest/versions.js";
import { capabilitiesOf } from "../../agents/type.js";
import { readCache } from "../../flows/registry/cache.js";
import { megabytes, size } from "../../ui/size.js";
import type { Handler, View } from "../command.js";
import { describe } from "../describe.js";
import type * as declared from "./commands.js";

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

export const list: Handler<typeof declared.list> = async (_, clm) => {
  const entries = (await loadTypes(clm.configDir)).flatMap((type) =>
    Object.keys(type.manifest.versions).map((version) => entryOf(clm.configDir, type, version)),
  );
  clm.list(entries, view);
};

function entryOf(configDir: string, { manifest, sources }: LoadedType, version: string) {
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

export const show: Handler<typeof declared.show> = async ({ args }, clm) => {
  const details = await readVersion(clm.configDir, args.type, args.version);
  clm.show(details, () => describeVersion(details));
};

async function readVersion(configDir: string, type: string, named?: string) {
  const loaded = await loadType(configDir, type);
  const { manifest } = loaded;
  const version = named ?? manifest.default;
  const { installer, commit } = releaseOf(manifest, version);
  const inThisVersion = <Part extends { when: string }>(parts: Record<string, Part>) =>
    Object.entries(parts).filter(([, { when }]) => inRange(version, when));
  const titles = (parts: Record<string, { when: string; title: string }>) =>
    inThisVersion(parts).map(([name, { title }]) => ({ name, title }));
  return {
    ...entryOf(configDir, loaded, version),
    title: manifest.title,
    ...(commit && { commit }),
    installer,
    requires: manifest.requires,
    capabilities: await capabilitiesOf(manifest),
    settings: manifest.settings.map(({ name, ask }) => ({ name, title: ask })),
    providers: titles(manifest.providers),
    channels: titles(manifest.channels),
    mcp: titles(manifest.mcp),
    versions: Object.keys(manifest.versions),
  };
}

function describeVersion(details: Awaited<ReturnType<typeof readVersion>>): string {
  const { installer, requires } = details;
  const names = (parts: { name: string }[]) => parts.map(({ name }) => name).join(", ");
  return describe(11, [
    ["Type", `${details.type} (${details.title})`],
    ["Version", `${details.version}${details.standin ? ", a stand-in for tests" : ""}`],
    ["Reports", details.reports],
    ["Default", details.default],
    ["Pinned by", details.pinned_by],
    ["Commit", details.commit],
    ["Installer", installer?.url ?? "none: you bring the program"],
    ["Size", installer && `${installer.size} bytes (${size(installer.size)})`],
    ["SHA-256", installer?.sha256],
    ["Cached", details.cached],
    ["Systems", requires.systems.join(", ")],
    ["Machines", requires.arch.join(", ")],
    [
      "Needs",
      `systemd ${requires.systemd}, ${megabytes(requires.memory_mb)} memory, ${megabytes(requires.disk_mb)} disk`,
    ],
    ["Programs", Object.keys(requires.programs).join(", ")],
    ["Reaches", requires.reach.join(", ")],
    ["Can", details.capabilities.join(", ")],
    ["Settings", names(details.settings)],
    ["Providers", names(details.providers)],
    ["Channels", names(details.channels)],
    ["MCP", names(details.mcp)],
    ["Versions", details.versions.join(", ")],
  ]);
}
