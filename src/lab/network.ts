import { existsSync } from "node:fs";
import { readdir, rm, statfs } from "node:fs/promises";
import { inParallel } from "../async/limit.js";
import { attempt, run } from "./command.js";
import type { HostNames, LabNames } from "./names.js";
import { readRecord, recordedLabs } from "./record.js";
import { address, freeSubnet, gateway, knownNetworks } from "./subnet.js";

const namespace = (name: string): string => `/run/netns/${name}`;

/** The machine must be locked until the subnet is recorded. */
export async function chooseSubnet(): Promise<number> {
  const [addresses, routes] = await Promise.all([
    run("ip", ["-json", "address", "show"]),
    run("ip", ["-json", "route", "show", "table", "all", "type", "unicast"]),
  ]);
  const records = await Promise.all((await recordedLabs()).map((lab) => readRecord(lab).catch(() => undefined)));
  const recorded = records.flatMap((record) => record?.subnet ?? []);
  return freeSubnet(knownNetworks(addresses, routes), recorded);
}

export async function ensureBridge(names: LabNames, subnet: number): Promise<void> {
  const { bridge } = names;
  await ip([
    ...((await links()).has(bridge) ? [] : [`link add name ${bridge} type bridge`]),
    `link set dev ${bridge} alias clm-lab-${names.lab}`,
    `address replace ${gateway(subnet)}/24 dev ${bridge}`,
    `link set dev ${bridge} up`,
  ]);
}

/** A network namespace per host, connected to the bridge, with its address. Existing ones stay. */
export async function ensureWires(
  names: LabNames,
  hosts: HostNames[],
  subnet: number,
  internet: boolean,
): Promise<void> {
  const lines: string[] = [];
  const there = await links();
  for (const { netns, veth } of hosts) {
    const isThere = await isNamespace(netns);
    if (!isThere) {
      await rm(namespace(netns), { force: true });
      lines.push(`netns add ${netns}`);
      // Its other end is gone, or in an unnamed namespace.
      if (there.has(veth)) lines.unshift(`link delete ${veth}`);
    }
    if (!isThere || !there.has(veth)) lines.push(`link add ${veth} type veth peer name eth0 netns ${netns}`);
    lines.push(`link set dev ${veth} master ${names.bridge} up`);
  }
  await ip(lines);
  await inParallel(hosts, 8, ({ netns, number }) =>
    ip(
      [
        "link set dev lo up",
        `address replace ${address(subnet, number)}/24 dev eth0`,
        "link set dev eth0 up",
        ...(internet ? [`route replace default via ${gateway(subnet)}`] : []),
      ],
      netns,
    ),
  );
}

/** Removes the lab's network. Returns false when there was nothing. */
export async function removeNetwork(names: LabNames): Promise<boolean> {
  const ours = [...(await links())].filter((name) => name.startsWith(names.links));
  const namespaces = (await readdir("/run/netns").catch(() => [])).filter((name) => name.startsWith(names.prefix));
  const lines = [...ours.map((name) => `link delete ${name}`), ...namespaces.map((name) => `netns delete ${name}`)];
  // A link may go with its namespace, and a name may be stale: only what is left counts.
  if (lines.length > 0) await attempt("ip", ["-force", "-batch", "-"], { input: `${lines.join("\n")}\n` });
  const left = await links();
  for (const name of ours) if (left.has(name)) await run("ip", ["link", "delete", name]);
  for (const name of namespaces) await rm(namespace(name), { force: true });
  return lines.length > 0;
}

async function links(): Promise<Set<string>> {
  const found = JSON.parse((await run("ip", ["-json", "link", "show"])) || "[]") as { ifname: string }[];
  return new Set(found.map(({ ifname }) => ifname));
}

/** Not so for a stale name, left by a kill, or by a reboot where /run is on disk. */
async function isNamespace(netns: string): Promise<boolean> {
  const nsfs = 0x6e736673;
  return existsSync(namespace(netns)) && (await statfs(namespace(netns))).type === nsfs;
}

async function ip(lines: string[], netns?: string): Promise<void> {
  if (lines.length === 0) return;
  await run("ip", [...(netns ? ["-netns", netns] : []), "-batch", "-"], { input: `${lines.join("\n")}\n` });
}
