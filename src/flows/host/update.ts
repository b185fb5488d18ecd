import { Fault, isFault } from "../../errors.js";
import { sh } from "../../quote.js";
import { readFacts } from "../../remote/facts.js";
import { findHost, type Host } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { recordedFacts } from "./facts.js";

export interface HostChange {
  address?: string | undefined;
  port?: number | undefined;
  user?: string | undefined;
  identity?: string | undefined;
  labels: Record<string, string>;
  removeLabels: string[];
  /** Write it down without calling the host, for one that is away. */
  offline: boolean;
}

/** Update: another road to the same host, which is proven by its pinned key, or other labels. Facts are read anew. */
export async function updateHost(session: Session, name: string, change: HostChange): Promise<Host> {
  const before = findHost(session.hosts.read().hosts, name);
  const road = withoutUndefined({
    address: change.address,
    port: change.port,
    user: change.user,
    identity: change.identity,
  });
  const seen = change.offline ? {} : await lookAgain(session, { ...before, ...road });

  const changed = (host: Host): Host => {
    const labels = { ...host.labels, ...change.labels };
    for (const key of change.removeLabels) delete labels[key];
    return { ...host, ...road, ...seen, labels };
  };
  const deed = { verb: "host update", target: name, summary: `update host ${name}` };
  await session.gate.pass(deed, () =>
    session.hosts.update((fleet) => {
      findHost(fleet.hosts, name);
      return { ...fleet, hosts: fleet.hosts.map((host) => (host.name === name ? changed(host) : host)) };
    }),
  );
  return changed(before);
}

async function lookAgain(session: Session, target: Host): Promise<Pick<Host, "facts" | "sudo">> {
  const connection = await session.pool.connect(target).catch((error) => {
    if (isFault(error, "unreachable")) error.next.push(sh`clm ${session.argv} --offline`);
    if (isFault(error, "host-key-changed")) throw notTheHost(target, error);
    throw error;
  });
  const facts = await readFacts(connection, session.now, session.signal);
  return { facts: recordedFacts(facts, session.now()), sudo: facts.sudo };
}

function notTheHost({ name, address }: Host, { why, data }: Fault): Fault {
  return new Fault("host-key-changed", `what answers at ${address} does not have the key of ${name}`, {
    why,
    next: `clm host show ${name}`,
    data,
  });
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as never;
}
