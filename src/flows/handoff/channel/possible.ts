import { inRange } from "../../../agents/manifest/versions.js";
import { parseObservation } from "../../../agents/probe/proof/observation.js";
import { portOwnerScript } from "../../../agents/probe/proof/port-owner.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import { didYouMean } from "../../../text/nearest.js";
import { mustBeInstalled } from "../../agent/preconditions.js";
import type { AgentTarget } from "../../agent/target.js";
import type { Session } from "../../session.js";

const probeTimeout = 30_000;

/** Checks that need no host: the version can do it, and the agent has the channel. */
export function mustHaveChannel({ agent, resolved }: AgentTarget, channel: string): void {
  mustBeInstalled(agent);
  const { name, ref, record } = agent;
  const { manifest, version } = resolved;
  const since = manifest.handoff?.channels;
  if (since === undefined || !inRange(version, since)) {
    throw new Fault("unsupported", `${manifest.title} ${version} does not hand sessions to channels`, {
      why: since === undefined ? [] : `${name} needs version ${since}`,
      next: `clm registry show ${manifest.type}`,
    });
  }
  if (!Object.hasOwn(manifest.channels, channel)) {
    throw new Fault("not-found", `${manifest.title} has no channel type '${channel}'`, {
      ...didYouMean(channel, Object.keys(manifest.channels)),
      next: "clm agent channels",
    });
  }
  const configured = Object.keys(record.channels ?? {});
  if (!configured.includes(channel)) {
    throw new Fault("not-ready", `${name} has no channel ${channel}`, {
      why: configured.length > 0 ? `it has ${configured.join(", ")}` : "it has no channels",
      next: `clm agent configure ${ref} --channel ${channel}`,
    });
  }
}

/** The agent's own process takes the request up, so it must run. */
export async function mustBeUp(session: Session, { agent, resolved }: AgentTarget): Promise<void> {
  const connection = await session.pool.connect(agent.host);
  const asking = {
    host: resolved.host,
    what: `whether ${agent.name} is running`,
    timeout: probeTimeout,
    signal: session.signal,
  };
  const { unit } = await askHost(connection.as("root"), portOwnerScript(resolved), asking, parseObservation);
  if (unit.ActiveState === "active") return;
  const isStopped = unit.ActiveState === "inactive";
  throw new Fault("not-ready", `${agent.name} ${isStopped ? "is stopped" : "does not run"}`, {
    why: `${resolved.unit} on ${resolved.host} is ${unit.ActiveState ?? "not there"}`,
    next: isStopped ? `clm agent start ${agent.ref}` : `clm agent doctor ${agent.ref}`,
  });
}
