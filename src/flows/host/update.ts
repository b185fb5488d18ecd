import { Fault } from "../../errors.js";
import { readFacts } from "../../remote/facts.js";
import { findHost, type Host, hostStore } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { recordedFacts } from "./refresh.js";

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
  const store = hostStore(session.configDir);
  const before = findHost(store.read().hosts, name);
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
    store.update((file) => {
      findHost(file.hosts, name);
      return { ...file, hosts: file.hosts.map((host) => (host.name === name ? changed(host) : host)) };
    }),
  );
  return changed(before);
}

async function lookAgain(session: Session, target: Host): Promise<Pick<Host, "facts" | "sudo">> {
  const connection = await session.pool.connect(target).catch((error) => {
    if (error instanceof Fault && error.fault === "unreachable")
      error.next.push(`clm host update ${target.name} --offline …`);
    throw error;
  });
  const facts = await readFacts(connection, session.now, session.signal);
  return { facts: recordedFacts(facts, session.now()), sudo: facts.sudo };
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as never;
}
