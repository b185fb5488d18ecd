import { Fault } from "../../errors.js";
import { unpin } from "../../remote/host-keys/pins.js";
import { findHost, type Host } from "../../state/hosts.js";
import { keepLast } from "../chat/last.js";
import type { Session } from "../session.js";

/**
 * Remove: clm forgets the host. Nothing is changed on it. While agents live there it refuses, unless the host is gone
 * for good (`forget`).
 */
export async function removeHost(session: Session, name: string, { forget }: { forget: boolean }): Promise<void> {
  const host = findHost(session.hosts.read().hosts, name);
  if (!forget) mustBeEmpty(host);
  const agents = agentsOf(host);
  const deed = {
    verb: "host remove",
    target: name,
    summary: `forget host ${name}`,
    question: `Forget host ${name} (${host.address})${agents.length > 0 ? ` and its agents ${agents.join(", ")}` : ""}?`,
  };
  await session.gate.pass(deed, () => forgetHost(session, name));
  if (session.gate.dryRun) tellAgents(session, host);
}

function tellAgents({ ui, secrets }: Session, host: Host): void {
  for (const [agent, { type }] of Object.entries(host.agents)) {
    const names = secrets.names({ host: host.name, type, agent });
    ui.note(`would forget agent ${agent}${names.length > 0 ? ` and its secrets ${names.join(", ")}` : ""}`);
  }
}

/** Drops a host's secrets, last conversations, pin and record. The record goes last, so that a run cut short is done again by the same command. */
export async function forgetHost(session: Session, name: string): Promise<void> {
  const { configDir, secrets, hosts, inFleet } = session;
  await inFleet(async () => {
    await secrets.removeHost(name);
    await keepLast(session, (chats) => chats.forget(name));
    await unpin(configDir, name);
    await hosts.update((fleet) => ({ ...fleet, hosts: fleet.hosts.filter((host) => host.name !== name) }));
  });
}

const agentsOf = (host: Host) => Object.keys(host.agents);

function mustBeEmpty(host: Host): void {
  const agents = agentsOf(host);
  if (agents.length === 0) return;
  throw new Fault(
    "in-use",
    `${agents.length === 1 ? "an agent lives" : "agents live"} on ${host.name}: ${agents.join(", ")}`,
    {
      why: "removing the host would leave them running with nobody looking after them",
      next: `clm host remove ${host.name} --forget   # only if the machine is gone for good`,
    },
  );
}
