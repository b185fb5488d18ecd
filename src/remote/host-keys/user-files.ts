import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import type { SshSettings } from "../ssh-settings.js";
import { type Entry, type KnownHosts, lookupName, matches } from "./known-hosts.js";
import { readKnownHosts } from "./known-hosts-file.js";
import type { UserEntries } from "./verdict.js";

type Files = Pick<SshSettings, "hostname" | "port" | "hostKeyAlias" | "userKnownHostsFiles" | "globalKnownHostsFiles">;

/** The name the user's files hold a host by. */
export function userNameOf({
  hostname,
  port,
  hostKeyAlias,
}: Pick<Files, "hostname" | "port" | "hostKeyAlias">): string {
  return hostKeyAlias?.toLowerCase() ?? lookupName(hostname, port);
}

/** What the known_hosts files of the user and of this machine say about a host. They are read, never written. */
export async function userEntries(settings: Files): Promise<UserEntries & Pick<KnownHosts, "ignored">> {
  const paths = [...settings.userKnownHostsFiles, ...settings.globalKnownHostsFiles];
  const files = await Promise.all(paths.map((path) => readKnownHosts(path).catch((error) => refuse(path, error))));
  const name = userNameOf(settings);
  const find = (marker: Entry["marker"]) =>
    files.flatMap((file) => file.entries.filter((entry) => entry.marker === marker && matches(entry.hosts, name)));
  let keys: Entry[] | undefined;
  return {
    revoked: find("revoked"),
    // Only on demand: every line of a hashed file costs an HMAC, and a host with a pin never asks.
    get keys() {
      keys ??= find(undefined);
      return keys;
    },
    ignored: files.flatMap((file) => file.ignored),
  };
}

function refuse(path: string, error: unknown): never {
  throw new Fault("local-setup", `cannot read ${path}`, {
    why: [(error as Error).message, "it may say that the host's key was revoked or is another one, so clm stops here"],
    next: `ls -l ${quote(path)}`,
    cause: error,
  });
}
