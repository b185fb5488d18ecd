import { Fault, type FaultDetails } from "../../errors.js";
import { quote } from "../../quote.js";
import { fingerprint } from "../../text/fingerprint.js";
import type { Target } from "../target/target.js";
import { formatKey, type HostKey } from "./key.js";
import { type KnownHostsEntry, lookupName } from "./known-hosts.js";
import { type SshAddress, userNameOf } from "./user-files.js";
import type { Distrust } from "./verdict.js";

/** An unknown key. Once it is approved, the connection can be tried again. */
export class UnknownHostKey extends Fault {
  constructor(
    readonly alias: string,
    readonly key: HostKey,
    what: string,
    details: FaultDetails,
  ) {
    super("host-key-unknown", what, details);
  }
}

/** The fault for a key that is not trusted. Names every key on file and the key shown. */
export function untrusted(target: Target, settings: SshAddress, found: Distrust): Fault {
  const { offered } = found;
  const host = describeHost(target, settings);
  const data = keyData(target, offered, found.kind === "changed" ? found.expected : []);
  switch (found.kind) {
    case "unknown":
      return new UnknownHostKey(target.name, offered, `the key of ${host} is not known`, {
        why: [shows(offered), "on the host, this prints the same: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"],
        next: nextFor(target, settings),
        data,
      });
    case "changed": {
      const [whose, next] =
        found.where === "clm"
          ? ["the one clm pinned", `clm host trust ${target.name}`]
          : ["the one in your known_hosts", forget(settings, found.expected)];
      return new Fault("host-key-changed", `the key of ${host} is not ${whose}`, {
        why: [
          ...found.expected.map(onFile),
          shows(offered),
          "the host was reinstalled, or another machine answers at its address",
        ],
        next,
        data,
      });
    }
    case "revoked":
      return new Fault("host-key-revoked", `the key of ${host} was revoked`, {
        why: [shows(offered), `revoked in ${locationOf(found.entry)}`],
        next: `give ${target.name} a new host key, then: clm host trust ${target.name}`,
        data: { ...data, revoked: { file: found.entry.file, line: found.entry.line } },
      });
  }
}

export function wrongFingerprint(target: Target, demanded: string, offered: HostKey): Fault {
  return new Fault("host-key-changed", `the key of ${target.name} does not have the fingerprint you gave`, {
    why: [`you gave    ${demanded}`, shows(offered)],
    next: "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub   # on the host",
    data: { ...keyData(target, offered, []), demanded },
  });
}

function keyData(target: Target, offered: HostKey, expected: readonly HostKey[]) {
  return {
    alias: target.name,
    offered: formatKey(offered),
    offeredFingerprint: fingerprint(offered.blob),
    expected: expected.map(formatKey),
    expectedFingerprints: expected.map((key) => fingerprint(key.blob)),
  };
}

const describeKey = (key: HostKey) => `${fingerprint(key.blob)} (${key.type})`;
const shows = (key: HostKey) => `it shows    ${describeKey(key)}`;
const locationOf = (entry: KnownHostsEntry) => `${entry.file}, line ${entry.line}`;

function onFile(key: HostKey | KnownHostsEntry): string {
  return `on file is  ${describeKey(key)}${"file" in key ? ` in ${locationOf(key)}` : ""}`;
}

function describeHost(target: Target, { hostname, port }: SshAddress): string {
  const address = lookupName(hostname, port);
  return target.name === address ? target.name : `${target.name} at ${address}`;
}

/** A jump host is not in the fleet: the user approves its key with ssh, and known_hosts then vouches for it. */
function nextFor(target: Target, { hostname, port }: SshAddress): string {
  return target.jump ? `ssh ${port === 22 ? "" : `-p ${port} `}${hostname}` : `clm host trust ${target.name}`;
}

function forget(settings: SshAddress, expected: KnownHostsEntry[]): string[] {
  const files = new Set(expected.map((entry) => entry.file));
  return [...files].map((file) => `ssh-keygen -f ${quote(file)} -R '${userNameOf(settings)}'`);
}
