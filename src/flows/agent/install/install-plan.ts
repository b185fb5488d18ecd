import { randomBytes } from "node:crypto";
import type { Manifest } from "../../../agents/manifest/manifest.js";
import { defaultVersion, loadManifests, loadType, releaseOf } from "../../../agents/manifest/registry.js";
import { accountComment } from "../../../agents/plan/account.js";
import { takenPorts } from "../../../agents/plan/ports.js";
import { newRecord, type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import type { AgentName } from "../../../names.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, refFor } from "../../../state/agents.js";
import { findHost, type Host } from "../../../state/hosts.js";
import type { Session } from "../../session.js";
import { isKey } from "../api-key.js";
import type { Installation } from "../preflight/preflight-probe.js";

export interface InstallOptions {
  /** By default the type of an installation that was begun. */
  type?: string | undefined;
  host: string;
  name: AgentName;
  version?: string | undefined;
  port?: number | undefined;
  relaxed: boolean;
  /** The user's own copy of the installer. */
  installerFile?: string | undefined;
  /** Missing packages may be installed on the host. */
  packages: boolean;
}

export interface InstallPlan {
  options: InstallOptions;
  host: Host;
  manifest: Manifest;
  types: readonly Manifest[];
  ref: string;
  /** The record of an agent that is installed, or whose installation was begun. */
  before?: AgentRecord;
  /** The record to begin with; its port is chosen after the preflight. */
  draft: AgentRecord & { mark: string };
}

/** Refuses everything that can be refused on this machine. */
export async function planInstall(session: Session, options: InstallOptions): Promise<InstallPlan> {
  const fleet = session.hosts.read();
  const host = findHost(fleet.hosts, options.host);
  const before = Object.hasOwn(host.agents, options.name) ? host.agents[options.name] : undefined;
  const type = options.type ?? before?.type;
  if (type === undefined) {
    throw new Fault("usage", "--type is missing: name the type of the agent", { next: "clm registry list" });
  }
  const { manifest } = await loadType(session.configDir, type);
  const version = options.version?.replace(/^v(?=\d)/, "") ?? before?.version ?? defaultVersion(manifest, host.labels);
  releaseOf(manifest, version);
  if (before) mustContinue(before, { ...options, type, version });
  mustHaveValidKey(session, manifest, options);

  const { name } = options;
  const fresh = newRecord(manifest, {
    name,
    version,
    port: options.port ?? manifest.api.port.first,
    mark: randomBytes(4).toString("hex"),
    relaxed: options.relaxed,
  });
  // An existing record is kept: its mark is on the host, and its answers are the user's.
  const draft = { ...(before ?? fresh), ...(options.relaxed && { relaxed: true }) };
  if (options.port !== undefined) draft.port = options.port;
  const ref = refFor(fleet, host.name, name);
  const types = await loadManifests(session.configDir);
  return { options, host, ref, manifest, types, ...(before && { before }), draft: draft as InstallPlan["draft"] };
}

/** An agent of that name exists, at least in part: only the same installation can continue. */
function mustContinue(before: AgentRecord, wanted: InstallOptions & { type: string; version: string }): void {
  const { name, host } = wanted;
  const full = `${host}/${name}`;
  if (before.status === "removing") {
    throw new Fault("in-use", `${name} is being removed from ${host}`, { next: `clm agent remove ${full}` });
  }
  if (before.type !== wanted.type) throw taken(`${name} on ${host} is an agent of type ${before.type}`, full);
  if (before.mark === undefined) {
    throw new Fault("already-exists", `${name} on ${host} was taken over, not installed by clm`, {
      why: "its account is not one that clm made",
      next: [`clm agent show ${full}`, `clm agent configure ${full}`],
    });
  }
  const begun = before.status === "installing";
  if (before.version !== wanted.version) {
    const how = begun ? `an installation of ${before.version} was begun` : `${before.version} is installed`;
    throw taken(`${name} on ${host} has another version: ${how}`, full);
  }
  if (wanted.port !== undefined && !begun && wanted.port !== before.port) {
    throw new Fault("already-exists", `${name} on ${host} has port ${before.port} already`, {
      next: `clm agent configure ${full} --port ${wanted.port}`,
    });
  }
}

const taken = (what: string, full: string) =>
  new Fault("already-exists", what, {
    why: "it would have to be removed first; a backup is made then",
    next: [`clm agent show ${full}`, `clm agent remove ${full}`],
  });

/** The key is made once and kept. One that was damaged by hand is reported, not replaced. */
function mustHaveValidKey({ secrets, ui }: Session, { type, api }: Manifest, { host, name }: InstallOptions): void {
  if (api.secret === undefined) return;
  const key = secrets.get({ host, type, agent: name }, api.secret);
  if (key) ui.hide(key);
  if (!key || isKey(key)) return;
  throw new Fault("bad-input", `${api.secret} of ${host}:${type}:${name} is not 64 lowercase hex digits`, {
    why: `it was changed by hand in ${secrets.path}`,
    next: `clm agent rotate-key ${host}/${name}`,
  });
}

export const agentFrom = ({ host, options: { name }, ref }: InstallPlan, record: AgentRecord): Agent => ({
  name,
  host,
  record,
  ref,
});

export const resolvedFrom = (plan: InstallPlan, record: AgentRecord): ResolvedAgent =>
  resolvedAgent(plan.manifest, agentFrom(plan, record));

export function installationFrom(plan: InstallPlan): Installation {
  const { manifest, host, before, options } = plan;
  const agent = resolvedFrom(plan, plan.draft);
  return {
    agent,
    comment: before?.mark && accountComment(before.mark),
    begun: before?.status === "installing",
    port: options.port ?? before?.port,
    ports: { range: manifest.api.port, recorded: otherPorts(host, options.name, plan.types) },
    reach: agent.release.reach ?? manifest.requires.reach,
    packages: options.packages,
  };
}

export const otherPorts = (host: Host, name: string, types: readonly Manifest[]): number[] =>
  takenPorts(host, name, types).map(({ port }) => port);
