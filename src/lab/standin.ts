import { createHash } from "node:crypto";
import toolsServer from "../../templates/standin/hermes/tools_server.py?raw";
import installer from "../../templates/standin/install.sh?raw";
import { quote } from "../quote.js";
import * as modules from "./standin-modules.js";

/** Releases of Hermes with a stand-in, and the version each reports. */
export const standins = {
  "2026.5.7": { reports: "0.13.0", commit: "498bfc7bc12a937621b4215312049b1000726df3" },
  "2026.7.1": { reports: "0.18.0", commit: "7c1a029553d87c43ecff8a3821336bc95872213b" },
} as const;

export type Standin = keyof typeof standins;

export const standinType = "hermes";

export const defaultStandin: Standin = "2026.7.1";

/** An installer that behaves like that release's: one self-contained bash script, the same bytes for the same clm. */
export function standinInstaller(version: Standin): string {
  const { reports, commit } = standins[version];
  const release = [
    `VERSION=${quote(version)}`,
    `NUMBER=${quote(reports)}`,
    `MINOR=${reports.split(".")[1]}`,
    `COMMIT=${quote(commit)}`,
  ];
  const packageFile = `"""A stand-in for Hermes Agent."""\n\n__version__ = "${reports}"\n__release_date__ = "${version}"\n`;
  const files = [
    ["hermes_cli/__init__.py", packageFile],
    ...Object.entries(modules).map(([name, text]) => [`hermes_cli/${name}.py`, text]),
    // The name by which Codex calls Hermes back.
    ["agent/transports/hermes_tools_mcp_server.py", toolsServer],
  ].map(([path, text]) => `  cat > "$1/${path}" << 'END OF ${path}'\n${text}END OF ${path}`);
  const program = ["program() {", ...files, "}"];
  return installer.replace("#release#", () => release.join("\n")).replace("#program#", () => program.join("\n"));
}

export type StandinPin = ReturnType<typeof pinnedStandins>[number];

export function pinnedStandins() {
  return (Object.keys(standins) as Standin[]).map((version) => {
    const bytes = Buffer.from(standinInstaller(version));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { version: `${version}+standin`, ...standins[version], bytes, sha256 };
  });
}
