import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { fixes } from "../../../agents/probe/proof/judge.js";
import { saysVersion } from "../../../agents/probe/version-line.js";
import type { Seen } from "./seen.js";

/** Something about an agent that is not as clm would have it. */
export interface Difference {
  id: "account" | "unit" | "version" | "hardening" | "bind" | "port" | "key" | "env" | "variables";
  differs: string;
  /** The command that puts it right. */
  fix: string;
}

export interface Known {
  /** The digest the agent's key should have; nothing when there is no key. */
  key?: string | undefined;
  /** Other agents of the host that are recorded with the same port. */
  samePort: string[];
  /** Variables clm would put into `.env`; nothing when it cannot be said yet. */
  variables?: string[] | undefined;
}

/** What of an agent on its host is not as clm would render it. Pure. */
export function differences(agent: ResolvedAgent, seen: Seen, known: Known): Difference[] {
  const { version, manifest, unit, port } = agent;
  const configure = `clm agent configure ${agent.ref}`;
  const { install } = fixes(agent);
  const found: Difference[] = [];
  const differ = (id: Difference["id"], differs: string, fix = configure) => found.push({ id, differs, fix });

  if (!seen.account) {
    differ("account", `there is no user ${agent.user} on the host`, install);
    return found;
  }
  if (seen.account.home !== agent.paths.home) {
    differ("account", `its home is ${seen.account.home} and should be ${agent.paths.home}`, install);
  }
  if (seen.unit.LoadState !== "loaded") differ("unit", `there is no unit ${unit}`);
  else if (seen.unit.NoNewPrivileges !== "yes" || seen.unit.ProtectSystem !== "strict") {
    differ("hardening", `${unit} is not closed in: ${openDoors(seen.unit)}`);
  }
  if (!saysVersion(agent, seen.version)) {
    const said = seen.version === "" ? "it does not tell its version" : `it says '${seen.version.slice(0, 120)}'`;
    differ("version", `${said}; ${manifest.type} ${version} is recorded`, install);
  }
  if (seen.env === "") differ("env", `${agent.paths.env} is missing`);
  else if (seen.env !== "600") differ("env", `${agent.paths.env} has mode 0${seen.env} and should have 0600`);
  if (seen.bind !== "" && seen.bind !== "127.0.0.1") {
    differ("bind", `its API is on ${seen.bind.slice(0, 60)}, not only on loopback`);
  }
  if (known.samePort.length > 0) {
    differ("port", `port ${port} is also that of ${known.samePort.join(", ")}`, `${configure} --port auto`);
  } else if (seen.port !== "" && seen.port !== String(port)) {
    differ("port", `it is set to port ${seen.port.slice(0, 20)}; ${port} is recorded`);
  }
  if (known.key === undefined) {
    differ("key", "clm has no key for its API", `clm agent rotate-key ${agent.ref}`);
  } else if (seen.env !== "" && seen.key !== known.key) {
    differ("key", seen.key === "" ? "its API has no key" : "the key of its API is not the one clm has");
  }
  if (known.variables) {
    const foreign = seen.variables.filter((variable) => !known.variables?.includes(variable));
    const unique = [...new Set(foreign)];
    if (unique.length > 0) {
      differ("variables", `.env has ${unique.join(", ")}, which clm does not set`, `${configure} --allow-removal`);
    }
  }
  return found;
}

function openDoors(unit: Record<string, string>): string {
  const wanted = { NoNewPrivileges: "yes", ProtectSystem: "strict", ProtectHome: "tmpfs", PrivateTmp: "yes" };
  return Object.entries(wanted)
    .filter(([name, value]) => unit[name] !== value)
    .map(([name, value]) => `no ${name}=${value}`)
    .join(", ");
}
