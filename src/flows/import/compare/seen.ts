import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { lookScript, saidIn, versionCall } from "../../../agents/probe/script.js";
import { sh } from "../../../quote.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Shell } from "../../../remote/process.js";
import library from "./look.sh?raw";

/** What was seen of an agent that Clawrium set up. */
export interface Seen {
  /** Its home, when it has an account. */
  account?: { home: string };
  /** Properties of its unit. */
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

/** Looks at the agent in one exec. The shell must be root's. */
export function look(root: Shell, agent: ResolvedAgent, salt: string, signal: AbortSignal): Promise<Seen> {
  const script = lookScript(agent, library, [
    sh`salt=${salt}`,
    "see_account",
    "see_unit",
    "see_env",
    versionCall(agent),
  ]);
  const asking = { host: agent.host, what: `how ${agent.name} is`, timeout: 90_000, signal };
  return askHost(root, script, asking, seenFrom);
}

/** Reads the lines of look.sh; nothing when they do not go to the end. */
export function seenFrom(text: string): Seen | undefined {
  const seen: Seen = { unit: {}, version: "", env: "", variables: [], bind: "", port: "", key: "" };
  const said = saidIn(text);
  for (const [key, value] of said ?? []) {
    if (key === "account") seen.account = { home: value.split(":")[5] ?? "" };
    else if (key.startsWith("unit.")) seen.unit[key.slice(5)] = value;
    else if (key === "variable") seen.variables.push(value);
    else if (["version", "env", "bind", "port", "key"].includes(key)) Object.assign(seen, { [key]: value });
  }
  return said && seen;
}
