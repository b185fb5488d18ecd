import { sh } from "../../quote.js";
import { objectFrom } from "../../text/json-object.js";
import { type ProxyType, proxyUnit } from "../plan/proxy.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { oneShotUnit } from "../plan/transient-unit.js";
import { proofLibrary } from "../probe/proof/library.js";
import { type Observation, parseObservation } from "../probe/proof/observation.js";
import { allIn, parseLines, probeScript } from "../probe/script.js";
import library from "./proxy.sh?raw";

export interface ProxyObservation extends Observation {
  /** The user of its unit; empty when there is none. */
  runsAs: string;
  /** As the agent's program reports them. */
  logins: Login[];
  /** As the proxy reports it, when its own processes hold its port. */
  says?: { upstream?: string; authenticated?: boolean };
}

/** Whether the agent is logged in at a provider, in its program's own words. */
export interface Login {
  provider: string;
  state: string;
  ready: boolean;
}

export interface ProxyProbeOptions {
  /** Undefined while it has none. */
  port?: number | undefined;
  /** Also ask the program for its logins, which may have to ask the provider. */
  logins?: boolean;
}

/** Seconds the program may take to report its logins. */
const loginSeconds = 60;
/** Milliseconds. */
export const probeTimeout = (loginSeconds + 30) * 1000;

/** It holds no secret, and changes nothing. */
export function proxyScript(
  agent: ResolvedAgent,
  type: ProxyType,
  { port = 0, logins = false }: ProxyProbeOptions,
): string {
  const login = oneShotUnit(agent, { words: [agent.paths.launcher, ...type.status.args], seconds: loginSeconds });
  return probeScript({ ...agent, unit: proxyUnit(agent, type) }, proofLibrary + library, [
    sh`port=${port} health=${type.health}`,
    "exec </dev/null",
    "probe_account",
    ...(logins ? [`${sh`probe_login ${loginSeconds} ${login}`} &`] : []),
    "probe_systemd",
    "probe_ports",
    "probe_unit",
    "probe_runs_as",
    "probe_port",
    "probe_proxy",
    "probe_journal_tail",
    "wait",
  ]);
}

/** Undefined when the output broke off. */
export const parseProxyObservation =
  ({ status }: ProxyType) =>
  (text: string): ProxyObservation | undefined => {
    const seen = parseObservation(text);
    if (!seen) return undefined;
    const lines = parseLines(text) ?? [];
    const all = (key: string) => allIn(lines, key).join("");
    const decoded = (key: string) => Buffer.from(all(key), "base64").toString("utf8");
    const says = saysIn(decoded("proxy"));
    return { ...seen, runsAs: all("runs_as"), logins: loginsIn(decoded("login"), status), ...(says && { says }) };
  };

export function loginsIn(text: string, { line, ready }: ProxyType["status"]): Login[] {
  const [lines, well] = [new RegExp(line, "u"), new RegExp(ready, "u")];
  return text.split("\n").flatMap((each) => {
    const { provider, state } = lines.exec(each)?.groups ?? {};
    return provider && state ? [{ provider, state: state.trim(), ready: well.test(state.trim()) }] : [];
  });
}

function saysIn(text: string): ProxyObservation["says"] {
  const report = objectFrom<{ upstream?: unknown; authenticated?: unknown }>(text);
  if (!report) return undefined;
  const { upstream, authenticated } = report;
  return {
    ...(typeof upstream === "string" && { upstream }),
    ...(typeof authenticated === "boolean" && { authenticated }),
  };
}
