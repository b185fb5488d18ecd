import { randomBytes } from "node:crypto";
import type { Manifest } from "../../../agents/manifest/manifest.js";
import { defaultVersion, loadType, releaseOf } from "../../../agents/manifest/registry.js";
import { freshRecord } from "../../../agents/plan/fresh.js";
import { accountComment } from "../../../agents/plan/owner-tag.js";
import { takenPorts } from "../../../agents/plan/ports.js";
import { type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import type { AgentName } from "../../../names.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, refFor } from "../../../state/agents.js";
import { findHost, type Host } from "../../../state/hosts.js";
import type { Session } from "../../session.js";
import { isKey } from "../api-key.js";
import type { Traveller } from "../preflight/preflight.js";
import { jobUnit } from "./installer-job.js";

export interface InstallWish {
  /** Without it, that of an installation which was begun. */
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

/** What is to be done, known before any host is asked. */
export interface Plan {
  wish: InstallWish;
  host: Host;
  manifest: Manifest;
  /** How the agent will be typed. */
  word: string;
  /** The record as it was found: of an agent that is there, or of an installation that was begun. */
  before?: AgentRecord;
  /** The record the work begins with; its port is settled when the host was seen. */
  draft: AgentRecord & { mark: string };
}

/** Everything that can be known, and refused, on this machine. */
export async function planInstall(session: Session, wish: InstallWish): Promise<Plan> {
  const fleet = session.hosts.read();
  const host = findHost(fleet.hosts, wish.host);
  const before = Object.hasOwn(host.agents, wish.name) ? host.agents[wish.name] : undefined;
  const type = wish.type ?? before?.type;
  if (type === undefined) {
    throw new Fault("usage", "--type is missing: say what kind of agent it is to be", { next: "clm registry list" });
  }
  const { manifest } = await loadType(session.configDir, type);
  const version = wish.version?.replace(/^v(?=\d)/, "") ?? before?.version ?? defaultVersion(manifest, host.labels);
  releaseOf(manifest, version);
  if (before) mustContinue(before, { ...wish, type, version });
  mustHaveGoodKey(session, manifest, wish);

  const { name } = wish;
  const fresh = freshRecord(manifest, {
    name,
    version,
    port: wish.port ?? manifest.api.port.first,
    mark: randomBytes(4).toString("hex"),
    relaxed: wish.relaxed,
  });
  // What was found lasts: its mark is on the host, and its answers are the user's.
  const draft = { ...(before ?? fresh), ...(wish.relaxed && { relaxed: true }) };
  if (wish.port !== undefined) draft.port = wish.port;
  const ref = refFor(fleet, host.name, name);
  return { wish, host, word: ref, manifest, ...(before && { before }), draft: draft as Plan["draft"] };
}

/** An agent of that name is there, or half there: only the same wish again goes on. */
function mustContinue(before: AgentRecord, wish: InstallWish & { type: string; version: string }): void {
  const { name, host } = wish;
  const full = `${host}/${name}`;
  if (before.status === "removing") {
    throw new Fault("in-use", `${name} is being removed from ${host}`, { next: `clm agent remove ${full}` });
  }
  if (before.type !== wish.type) throw taken(`${name} on ${host} is an agent of type ${before.type}`, full);
  if (before.mark === undefined) {
    throw new Fault("already-exists", `${name} on ${host} was taken over, not installed by clm`, {
      why: "its account is not one that clm made",
      next: [`clm agent show ${full}`, `clm agent configure ${full}`],
    });
  }
  const begun = before.status === "installing";
  if (before.version !== wish.version) {
    const how = begun ? `an installation of ${before.version} was begun` : `${before.version} is installed`;
    throw taken(`${name} on ${host} has another version: ${how}`, full);
  }
  if (wish.port !== undefined && !begun && wish.port !== before.port) {
    throw new Fault("already-exists", `${name} on ${host} has port ${before.port} already`, {
      next: `clm agent configure ${full} --port ${wish.port}`,
    });
  }
}

const taken = (what: string, full: string) =>
  new Fault("already-exists", what, {
    why: "it would have to be removed first; a backup is made then",
    next: [`clm agent show ${full}`, `clm agent remove ${full}`],
  });

/** The key is made once and kept; one that somebody spoiled by hand is told, not replaced. */
function mustHaveGoodKey({ secrets, ui }: Session, { type, api }: Manifest, { host, name }: InstallWish): void {
  const key = secrets.get({ host, type, agent: name }, api.secret);
  if (key) ui.hide(key);
  if (!key || isKey(key)) return;
  throw new Fault("bad-input", `${api.secret} of ${host}:${type}:${name} is not 64 lowercase hex digits`, {
    why: `it was changed by hand in ${secrets.path}`,
    next: `clm agent rotate-key ${host}/${name}`,
  });
}

/** The agent the record speaks of. */
export const subjectIn = (plan: Plan, record: AgentRecord): ResolvedAgent =>
  resolvedAgent(plan.manifest, agentIn(plan, record));

export const agentIn = ({ host, wish, word: ref }: Plan, record: AgentRecord): Agent => ({
  name: wish.name,
  host,
  record,
  ref,
});

/** What the host is to be asked, and what it should say. */
export function travellerOf(plan: Plan): Traveller {
  const { manifest, host, before, draft, wish } = plan;
  const agent = subjectIn(plan, draft);
  const comment = before?.mark && accountComment(before.mark);
  const reach = agent.release.reach ?? manifest.requires.reach;
  return {
    host,
    resolved: agent,
    expected: {
      requires: manifest.requires,
      user: agent.user,
      home: agent.paths.home,
      unit: agent.unit,
      comment,
      begun: before?.status === "installing",
      port: wish.port ?? before?.port,
      ports: { range: manifest.api.port, recorded: otherPorts(host, wish.name, manifest) },
      reach,
      packages: wish.packages,
    },
    sight: {
      resolved: agent,
      comment: comment ?? "",
      job: jobUnit(agent.name),
      programs: Object.keys(manifest.requires.programs),
      reach,
    },
  };
}

/** The ports of the host's other agents, running or not. */
export const otherPorts = (host: Host, name: string, manifest: Manifest): number[] =>
  takenPorts(host, name, manifest).map(({ port }) => port);
