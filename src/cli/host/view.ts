import type { Host } from "../../state/hosts.js";
import { megabytes } from "../../ui/size.js";
import { age } from "../../ui/time.js";
import type { View } from "../command.js";
import { describe } from "../describe.js";

export const labels = (host: Host): string =>
  Object.entries(host.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

export function hostView(now: Date): View<Host> {
  return {
    columns: [
      { title: "name", value: (host) => host.name, whole: true },
      { title: "address", value: (host) => (host.port ? `${host.address}:${host.port}` : host.address), whole: true },
      { title: "user", value: (host) => host.user, drop: 7 },
      { title: "system", value: ({ facts }) => facts && `${facts.os} ${facts.os_version}`, drop: 6 },
      { title: "arch", value: ({ facts }) => facts?.arch, drop: 1 },
      { title: "cpus", value: ({ facts }) => facts?.cpus, drop: 2 },
      { title: "memory", value: ({ facts }) => facts && megabytes(facts.memory_mb), drop: 3 },
      { title: "sudo", value: (host) => host.sudo, drop: 4 },
      { title: "agents", value: (host) => Object.keys(host.agents).length, drop: 5 },
      { title: "labels", value: labels },
      { title: "seen", value: ({ facts }) => facts && `${age(new Date(facts.seen_at), now)} ago`, whole: true },
    ],
    name: (host) => host.name,
    empty: "No hosts yet. Add one with: clm host add NAME --address ADDRESS",
  };
}

export function describeHost(host: Host, fingerprints: string[], now: Date): string {
  const { facts } = host;
  const lines: [string, string | number | undefined][] = [
    ["Name", host.name],
    ["Address", host.port ? `${host.address} port ${host.port}` : host.address],
    ["User", host.user],
    ["Identity", host.identity],
    ["Key", fingerprints.join(", ")],
    ["Sudo", host.sudo],
    ["Labels", labels(host)],
    ["Agents", Object.keys(host.agents).join(", ")],
    ["Added", host.added_at],
  ];
  if (facts) {
    lines.push(
      ["System", facts.os_name],
      ["Kernel", `${facts.kernel} ${facts.arch}`],
      ["CPUs", facts.cpus],
      ["Memory", megabytes(facts.memory_mb)],
      ["Disk", `${megabytes(facts.disk_free_mb)} free of ${megabytes(facts.disk_total_mb)}`],
      ["systemd", facts.systemd],
      ["GPU", facts.gpu.join(", ")],
      ["Seen", `${age(new Date(facts.seen_at), now)} ago`],
    );
  }
  return describe(10, lines);
}
