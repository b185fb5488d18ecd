import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import type { SshSettings } from "../target/ssh-settings.js";
import { type KnownHostsEntry, lookupName, matches, readKnownHosts } from "./known-hosts.js";
import type { UserEntries } from "./verdict.js";

export type SshAddress = Pick<SshSettings, "hostname" | "port" | "hostKeyAlias">;
type Files = SshAddress & Pick<SshSettings, "userKnownHostsFiles" | "globalKnownHostsFiles">;

/** The host's name in the user's files. */
export const userNameOf = ({ hostname, port, hostKeyAlias }: SshAddress): string =>
  hostKeyAlias?.toLowerCase() ?? lookupName(hostname, port);

/** Keys of a host in the known_hosts files of the user and of this machine. */
export async function userEntries(settings: Files): Promise<UserEntries> {
  const paths = [...settings.userKnownHostsFiles, ...settings.globalKnownHostsFiles];
  const files = await Promise.all(paths.map((path) => readKnownHosts(path).catch((error) => refuse(path, error))));
  const name = userNameOf(settings);
  const find = (marker: KnownHostsEntry["marker"]) =>
    files.flatMap((file) => file.entries.filter((entry) => entry.marker === marker && matches(entry.hosts, name)));
  let keys: KnownHostsEntry[] | undefined;
  return {
    revoked: find("revoked"),
    // On demand: every line of a hashed file costs an HMAC, and a host with a pin needs none.
    get keys() {
      keys ??= find(undefined);
      return keys;
    },
  };
}

function refuse(path: string, error: unknown): never {
  throw new Fault("local-setup", `cannot read ${path}`, {
    why: [(error as Error).message, "it may revoke the host's key or contain another one, so clm stops here"],
    next: `ls -l ${quote(path)}`,
    cause: error,
  });
}
