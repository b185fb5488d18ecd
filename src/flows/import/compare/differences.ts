import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { fixes } from "../../../agents/probe/proof/judge.js";
import { saysVersion } from "../../../agents/probe/version-line.js";
import type { ImportedState } from "./observe.js";

type Aspect = "account" | "unit" | "version" | "hardening" | "bind" | "port" | "key" | "env" | "variables";

export interface Difference {
  /** host: it could not be asked; rendering: its files cannot be rendered yet; same: there is none. */
  id: Aspect | "host" | "rendering" | "same";
  differs: string;
  fix?: string;
}

export interface ImportExpectation {
  /** Digest of the agent's key; undefined when clm has none. */
  key?: string | undefined;
  samePort: string[];
  /** Variables clm would write to `.env`; undefined when that is not known yet. */
  variables?: string[] | undefined;
}

export function differences(agent: ResolvedAgent, state: ImportedState, expected: ImportExpectation): Difference[] {
  const { version, manifest, unit, port } = agent;
  const configure = `clm agent configure ${agent.ref}`;
  const { install } = fixes(agent);
  const found: Difference[] = [];
  const differ = (id: Difference["id"], differs: string, fix = configure) => found.push({ id, differs, fix });

  if (!state.account) {
    differ("account", `there is no user ${agent.user} on the host`, install);
    return found;
  }
  if (state.account.home !== agent.paths.home) {
    differ("account", `its home is ${state.account.home} and should be ${agent.paths.home}`, install);
  }
  if (state.unit.LoadState !== "loaded") differ("unit", `there is no unit ${unit}`);
  else if (state.unit.NoNewPrivileges !== "yes" || state.unit.ProtectSystem !== "strict") {
    differ("hardening", `${unit} lacks sandbox directives: ${missingDirectives(state.unit)}`);
  }
  if (!saysVersion(agent, state.version)) {
    const said = state.version === "" ? "it reports no version" : `it reports '${state.version.slice(0, 120)}'`;
    differ("version", `${said}; ${manifest.type} ${version} is recorded`, install);
  }
  if (state.env === "") differ("env", `${agent.paths.env} is missing`);
  else if (state.env !== "600") differ("env", `${agent.paths.env} has mode 0${state.env} and should have 0600`);
  if (state.bind !== "" && state.bind !== "127.0.0.1") {
    differ("bind", `its API is on ${state.bind.slice(0, 60)}, not only on loopback`);
  }
  if (expected.samePort.length > 0) {
    differ("port", `port ${port} is also that of ${expected.samePort.join(", ")}`, `${configure} --port auto`);
  } else if (state.port !== "" && state.port !== String(port)) {
    differ("port", `it is set to port ${state.port.slice(0, 20)}; ${port} is recorded`);
  }
  if (expected.key === undefined) {
    differ("key", "clm has no key for its API", `clm agent rotate-key ${agent.ref}`);
  } else if (state.env !== "" && state.key !== expected.key) {
    differ("key", state.key === "" ? "its API has no key" : "the key of its API is not the one clm has");
  }
  if (expected.variables) {
    const { variables } = expected;
    const names = [...new Set(state.variables)].filter((name) => !variables.includes(name)).join(", ");
    if (names) differ("variables", `.env has ${names}, which clm does not set`, `${configure} --allow-removal`);
  }
  return found;
}

function missingDirectives(unit: Record<string, string>): string {
  const required = { NoNewPrivileges: "yes", ProtectSystem: "strict", ProtectHome: "tmpfs", PrivateTmp: "yes" };
  return Object.entries(required)
    .filter(([name, value]) => unit[name] !== value)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
