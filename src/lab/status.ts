import { fingerprint } from "../text/fingerprint.js";
import { answers, isRunning } from "./boot.js";
import { type HostNames, labNameFrom, labNames } from "./names.js";
import { type LabRecord, readRecord, recordedLabs } from "./record.js";
import { address } from "./subnet.js";
import { type HostState, type Lab, type LabHost, loginUser } from "./types.js";

export async function status(name?: string): Promise<Lab[]> {
  const wanted = name === undefined ? await recordedLabs() : [labNameFrom(name)];
  const records = await Promise.all(wanted.map(readRecord));
  return Promise.all(records.flatMap((record) => (record ? labStatus(record) : [])));
}

export async function labStatus(record: LabRecord): Promise<Lab> {
  const names = labNames(record.name);
  const hosts = record.hosts.map(async ({ number, hostKey }): Promise<LabHost> => {
    const host = names.host(number);
    const at = address(record.subnet, number);
    const state = await stateOf(host, at);
    const [, blob = ""] = hostKey.split(" ");
    const key = { hostKey, fingerprint: fingerprint(Buffer.from(blob, "base64")) };
    return { name: host.name, address: at, port: 22, user: loginUser, ...key, state };
  });
  return { name: record.name, release: record.release, internet: record.internet, hosts: await Promise.all(hosts) };
}

async function stateOf(host: HostNames, at: string): Promise<HostState> {
  if (!(await isRunning(host))) return "stopped";
  return (await answers(at, 2000)) ? "running" : "silent";
}
