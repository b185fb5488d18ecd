import { loadType, releaseOf } from "../../agents/manifest/registry.js";
import { inRange } from "../../agents/manifest/versions.js";
import { capabilitiesOf } from "../../agents/type.js";
import { megabytes, size } from "../../ui/size.js";
import type { Handler } from "../command.js";
import { describe } from "../describe.js";
import type { show } from "./commands.js";
import { entryOf } from "./list.js";

export const run: Handler<typeof show> = async ({ args }, clm) => {
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
