import { inHost } from "./clm.js";

// Files that a host writes by itself, and the backup copies of useradd and userdel.
const beside = [
  ...["/proc", "/sys", "/dev", "/run", "/tmp", "/var/log", "/var/lib/apt", "/var/cache"],
  // Exists while a service such as the lab's echo runs.
  "'/var/tmp/systemd-private-*'",
];
const copies = ["passwd", "shadow", "group", "gshadow", "subuid", "subgid"].map((name) => `/etc/${name}-`);

/** Every path of a host with its mode, owner, group and link target. */
export function treeOf(host: string): Promise<string> {
  const pruned = beside.map((path) => `-path ${path}`).join(" -o ");
  const ignored = copies.map((path) => `! -path ${path}`).join(" ");
  return inHost(host, `find / \\( ${pruned} \\) -prune -o ${ignored} -printf '%M %u %g %p %l\\n' | sort`);
}

/** Every account and group, with all their fields. */
export const accountsOf = (host: string): Promise<string> =>
  inHost(host, "cat /etc/passwd /etc/group /etc/shadow /etc/subuid /etc/subgid");
