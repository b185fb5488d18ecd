import { createHash } from "node:crypto";
import api from "../../templates/standin/hermes/api.py?raw";
import channels from "../../templates/standin/hermes/channels.py?raw";
import codex from "../../templates/standin/hermes/codex.py?raw";
import dashboard from "../../templates/standin/hermes/dashboard.py?raw";
import environment from "../../templates/standin/hermes/environment.py?raw";
import gateway from "../../templates/standin/hermes/gateway.py?raw";
import handoff from "../../templates/standin/hermes/handoff.py?raw";
import listening from "../../templates/standin/hermes/listening.py?raw";
import logins from "../../templates/standin/hermes/logins.py?raw";
import logs from "../../templates/standin/hermes/logs.py?raw";
import main from "../../templates/standin/hermes/main.py?raw";
import mcp from "../../templates/standin/hermes/mcp.py?raw";
import mind from "../../templates/standin/hermes/mind.py?raw";
import model from "../../templates/standin/hermes/model.py?raw";
import proxy from "../../templates/standin/hermes/proxy.py?raw";
import responses from "../../templates/standin/hermes/responses.py?raw";
import rules from "../../templates/standin/hermes/rules.py?raw";
import settings from "../../templates/standin/hermes/settings.py?raw";
import store from "../../templates/standin/hermes/store.py?raw";
import stream from "../../templates/standin/hermes/stream.py?raw";
import toolsServer from "../../templates/standin/hermes/tools_server.py?raw";
import turn from "../../templates/standin/hermes/turn.py?raw";
import installer from "../../templates/standin/install.sh?raw";
import { quote } from "../quote.js";

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
  const modules = {
    __init__: `"""A stand-in for Hermes Agent."""\n\n__version__ = "${reports}"\n__release_date__ = "${version}"\n`,
    settings,
    logs,
    model,
    mind,
    store,
    turn,
    stream,
    responses,
    rules,
    api,
    channels,
    listening,
    environment,
    mcp,
    logins,
    codex,
    proxy,
    handoff,
    gateway,
    dashboard,
    main,
  };
  const files = [
    ...Object.entries(modules).map(([name, text]): [string, string] => [`hermes_cli/${name}.py`, text]),
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
