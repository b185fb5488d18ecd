import type { Host } from "../../state/hosts.js";
import { age } from "../../ui/time.js";
import type { View } from "../command.js";

export const labels = (host: Host): string =>
  Object.entries(host.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

/** Hosts as rows; what is shown was recorded, and SEEN says when. */
export function hostView(now: Date): View<Host> {
  return {
    columns: [
      { title: "name", value: (host) => host.name },
      { title: "address", value: (host) => (host.port ? `${host.address}:${host.port}` : host.address) },
      { title: "user", value: (host) => host.user },
      { title: "system", value: ({ facts }) => facts && `${facts.os} ${facts.os_version}` },
      { title: "arch", value: ({ facts }) => facts?.arch },
      { title: "cpus", value: ({ facts }) => facts?.cpus },
      { title: "memory", value: ({ facts }) => facts && `${(facts.memory_mb / 1024).toFixed(1)} GB` },
      { title: "sudo", value: (host) => host.sudo },
      { title: "agents", value: (host) => Object.keys(host.agents).length },
      { title: "labels", value: labels },
      { title: "seen", value: ({ facts }) => facts && `${age(new Date(facts.seen_at), now)} ago` },
    ],
    name: (host) => host.name,
    empty: "No hosts yet. Add one with: clm host add NAME --address ADDRESS",
  };
}

/** One host for a person. */
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
      ["Memory", `${facts.memory_mb} MB`],
      ["Disk", `${facts.disk_free_mb} MB free of ${facts.disk_total_mb} MB`],
      ["systemd", facts.systemd],
      ["GPU", facts.gpu.join(", ")],
      ["Seen", `${age(new Date(facts.seen_at), now)} ago`],
    );
  }
  return lines.map(([title, value]) => `${`${title}:`.padEnd(10)} ${value || "-"}`).join("\n");
}
