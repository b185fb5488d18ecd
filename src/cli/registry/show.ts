import { type Shown, showRegistry } from "../../flows/registry/list.js";
import { megabytes, size } from "../../ui/size.js";
import type { Handler } from "../command.js";
import type { show } from "./commands.js";

export const run: Handler<typeof show> = async ({ args }, clm) => {
  const shown = await showRegistry(clm.configDir, args.type, args.version);
  clm.show(shown, () => describe(shown));
  return undefined;
};

function describe(shown: Shown): string {
  const { installer, requires } = shown;
  const names = (parts: { name: string }[]) => parts.map(({ name }) => name).join(", ");
  const lines: [string, string | undefined][] = [
    ["Type", `${shown.type} (${shown.title})`],
    ["Version", `${shown.version}${shown.standin ? ", a stand-in: it only behaves like the real one" : ""}`],
    ["Reports", shown.reports],
    ["Default", shown.default],
    ["Pinned by", shown.pinned_by],
    ["Commit", shown.commit],
    ["Installer", installer.url],
    ["Size", `${installer.size} bytes (${size(installer.size)})`],
    ["SHA-256", installer.sha256],
    ["Cached", shown.cached],
    ["Systems", requires.systems.join(", ")],
    ["Machines", requires.arch.join(", ")],
    [
      "Needs",
      `systemd ${requires.systemd}, ${megabytes(requires.memory_mb)} memory, ${megabytes(requires.disk_mb)} disk`,
    ],
    ["Programs", Object.keys(requires.programs).join(", ")],
    ["Reaches", requires.reach.join(", ")],
    ["Abilities", shown.abilities.join(", ")],
    ["Providers", names(shown.providers)],
    ["Channels", names(shown.channels)],
    ["MCP", names(shown.mcp)],
    ["Versions", shown.versions.join(", ")],
  ];
  return lines.map(([title, value]) => `${`${title}:`.padEnd(11)} ${value || "-"}`).join("\n");
}
