import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { parseLines, probeScript, versionCall } from "../../../agents/probe/script.js";
import { sh } from "../../../quote.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Shell } from "../../../remote/process.js";
import library from "./observe.sh?raw";

export interface ImportedState {
  /** Its home, when it has an account. */
  account?: { home: string };
  unit: Record<string, string>;
  version: string;
  /** The mode of its `.env`; empty when there is none. */
  env: string;
  variables: string[];
  /** API_SERVER_HOST and API_SERVER_PORT. */
  bind: string;
  port: string;
  /** A digest of the salt and API_SERVER_KEY. */
  key: string;
}

/** In one exec. The shell must be root's. */
export function observeImported(
  root: Shell,
  agent: ResolvedAgent,
  salt: string,
  signal: AbortSignal,
): Promise<ImportedState> {
  const script = probeScript(agent, library, [
    sh`salt=${salt}`,
    "probe_account",
    "probe_unit",
    "probe_env",
    versionCall(agent),
  ]);
  const query = { host: agent.host, what: `the status of ${agent.name}`, timeout: 90_000, signal };
  return askHost(root, script, query, importedStateFrom);
}

/** Parses the output of observe.sh; undefined when it is incomplete. */
export function importedStateFrom(text: string): ImportedState | undefined {
  const state: ImportedState = { unit: {}, version: "", env: "", variables: [], bind: "", port: "", key: "" };
  const members = parseLines(text);
  for (const [key, value] of members ?? []) {
    if (key === "account") state.account = { home: value.split(":")[5] ?? "" };
    else if (key.startsWith("unit.")) state.unit[key.slice(5)] = value;
    else if (key === "variable") state.variables.push(value);
    else if (["version", "env", "bind", "port", "key"].includes(key)) Object.assign(state, { [key]: value });
  }
  return members && state;
}
