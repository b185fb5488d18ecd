import { inHost } from "./clm.js";

// What a host writes by itself, and the copies that useradd and userdel keep of the files they change.
const beside = [
  ...["/proc", "/sys", "/dev", "/run", "/tmp", "/var/log", "/var/lib/apt", "/var/cache"],
  // Comes and goes with a service, as the lab's echo does.
  "'/var/tmp/systemd-private-*'",
];
const copies = ["passwd", "shadow", "group", "gshadow", "subuid", "subgid"].map((name) => `/etc/${name}-`);

/** Every path of a host with its mode, owner and group, and where it leads when it is a link. */
export function treeOf(host: string): Promise<string> {
  const pruned = beside.map((path) => `-path ${path}`).join(" -o ");
  const ignored = copies.map((path) => `! -path ${path}`).join(" ");
  return inHost(host, `find / \\( ${pruned} \\) -prune -o ${ignored} -printf '%M %u %g %p %l\\n' | sort`);
}

/** Who can log in, or could: every account and group, with all that is known of them. */
export const accountsOf = (host: string): Promise<string> =>
  inHost(host, "cat /etc/passwd /etc/group /etc/shadow /etc/subuid /etc/subgid");
