import { fingerprint } from "../text/fingerprint.js";
import { answers, isRunning } from "./boot.js";
import { type HostNames, labNameFrom, labNames } from "./names.js";
import { type LabRecord, readRecord, recordedLabs } from "./record.js";
import { address } from "./subnet.js";
import { loginUser } from "./types.js";

export async function status(name?: string): Promise<Lab[]> {
  const wanted = name === undefined ? await recordedLabs() : [labNameFrom(name)];
  const records = await Promise.all(wanted.map(readRecord));
  return Promise.all(records.flatMap((record) => (record ? labStatus(record) : [])));
}

export type Lab = Awaited<ReturnType<typeof labStatus>>;
export type LabHost = Lab["hosts"][number];

export async function labStatus({ name, release, internet, subnet, hosts: recorded }: LabRecord) {
  const names = labNames(name);
  const hosts = recorded.map(async ({ number, hostKey }) => {
    const host = names.host(number);
    const at = address(subnet, number);
    const [, blob = ""] = hostKey.split(" ");
    return {
      name: host.name,
      address: at,
      port: 22,
      user: loginUser,
      /** As in known_hosts: `ssh-ed25519 AAAA…`. */
      hostKey,
      /** The same as OpenSSH prints it: `SHA256:…`. */
      fingerprint: fingerprint(Buffer.from(blob, "base64")),
      state: await stateOf(host, at),
    };
  });
  return { name, release, internet, hosts: await Promise.all(hosts) };
}

/** running: it runs and its sshd answers; silent: it runs and nothing answers; stopped: it does not run. */
async function stateOf(host: HostNames, at: string): Promise<"running" | "silent" | "stopped"> {
  if (!(await isRunning(host))) return "stopped";
  return (await answers(at, 2000)) ? "running" : "silent";
}
