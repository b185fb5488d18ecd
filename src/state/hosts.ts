import { Fault } from "../errors.js";
import type { HostName, Label } from "../names.js";
import { didYouMean } from "../text/nearest.js";
import { own } from "../text/own-property.js";
import { agent } from "./agent.js";
import type { LockOptions } from "./lock.js";
import { also, list, number, object, oneOf, optional, record, type Shape, type TypeOf, text, whole } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

const facts = object({
  os: text,
  os_version: text,
  os_name: text,
  arch: text,
  kernel: text,
  hostname: text,
  cpus: number,
  memory_mb: number,
  disk_total_mb: number,
  disk_free_mb: number,
  /** Major version; 0 without systemd. */
  systemd: number,
  gpu: list(text),
  seen_at: text,
});

const host = object({
  /** Checked before it was recorded. */
  name: text as Shape<HostName>,
  address: text,
  port: optional(whole(1, 65535)),
  user: optional(text),
  identity: optional(text),
  labels: record(text),
  added_at: text,
  sudo: oneOf("root", "passwordless", "password", "none"),
  facts: optional(facts),
  agents: record(agent),
});

const fleet = object({
  hosts: also(list(host), "should name each host once", (hosts) => {
    return new Set(hosts.map(({ name }) => name)).size === hosts.length;
  }),
});

/** A recorded host. Contains no secret. */
export type Host = TypeOf<typeof host>;
/** Facts about a host, read at `seen_at`. */
export type HostFacts = TypeOf<typeof facts>;
export type Fleet = TypeOf<typeof fleet>;

/** `hosts.json`: every host clm knows, and the agents on it. */
export function hostStore(dir: string, lock: LockOptions = {}): Store<Fleet> {
  return jsonStore({ dir, file: "hosts.json", shape: fleet, empty: () => ({ hosts: [] }), lock });
}

export function findHost(hosts: readonly Host[], name: string): Host {
  const found = hosts.find((host) => host.name === name);
  if (!found) throw noHost(hosts, `no host is called '${name}'`, name);
  return found;
}

export function hasLabels(labels: readonly Label[]): (host: Host) => boolean {
  return (host) => labels.every(([key, value]) => own(host.labels, key) === value);
}

export function noHost(hosts: readonly Host[], what: string, word = ""): Fault {
  const names = hosts.map(({ name }) => name);
  const none = names.length === 0;
  return new Fault("not-found", what, {
    ...didYouMean(word, names, none ? "no host has been added yet" : []),
    next: none ? "clm host add --help" : "clm host list",
  });
}
