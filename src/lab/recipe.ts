import { createHash } from "node:crypto";
import type { Release } from "./shape.js";
import { loginUser } from "./shape.js";

/** What every lab host has from the start. Hosts have no way out by default, so what tests need must be here. */
export const included = [
  ...["systemd", "systemd-sysv", "dbus", "libpam-systemd"],
  ...["openssh-server", "sudo", "iproute2", "procps"],
  ...["python3", "ca-certificates", "curl", "git", "ripgrep", "less"],
];

// Nothing here has anything to do in a throw-away host, and each would cost time at boot or wake up in a test.
const masked = [
  ...["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer", "e2scrub_all.timer"],
  ...["systemd-networkd-wait-online.service", "systemd-timesyncd.service", "e2scrub_reap.service"],
  ...["console-getty.service", "getty@.service", "container-getty@.service", "getty-static.service"],
  ...["dev-hugepages.mount", "sys-fs-fuse-connections.mount", "modprobe@.service"],
];

// Not excluded for good: the setting goes with the file removed below.
const left = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"];

/** What root does inside the new tree, once its packages are there. */
export const settle = `set -e
useradd --create-home --key HOME_MODE=0700 --user-group --groups sudo --shell /bin/bash --uid 1000 ${loginUser}
install -d -o ${loginUser} -g ${loginUser} -m 0700 /home/${loginUser}/.ssh
echo '${loginUser} ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/${loginUser}
chmod 0440 /etc/sudoers.d/${loginUser}
visudo -c -q
passwd --quiet --lock root
echo LANG=C.UTF-8 > /etc/default/locale
systemctl --quiet mask ${masked.join(" ")}
systemctl --quiet set-default multi-user.target
# Each host has its own keys and its own identity.
rm -f /etc/ssh/ssh_host_* /var/lib/dbus/machine-id
# Written by mmdebstrap for the build alone; it may name a proxy and its password.
rm -f /etc/apt/apt.conf.d/99mmdebstrap /etc/dpkg/dpkg.cfg.d/99mmdebstrap
# A keyring of the control machine that is not here: apt falls back on the keys that are.
for file in /etc/apt/sources.list.d/*.sources; do
  [ -e "$file" ] || continue
  key=$(sed -n 's#^Signed-By: */#/#p' "$file")
  [ -z "$key" ] || [ -e "$key" ] || sed -i '/^Signed-By:/d' "$file"
done
# Done here once, or every host does it again at its first boot.
ldconfig
journalctl --update-catalog
systemd-sysusers
touch /etc/.updated /var/.updated`;

/** The arguments of mmdebstrap, without the tree it makes; the mirror comes on its stdin, `settle` from a file. */
export function recipe(release: Release, settleFile: string): string[] {
  return [
    ...["--mode=root", "--format=directory", "--variant=minbase", `--include=${included.join(",")}`],
    ...left.map((path) => `--dpkgopt=path-exclude=${path}`),
    // The tree is believed only when complete, and synced as a whole.
    "--dpkgopt=force-unsafe-io",
    `--customize-hook=chroot "$1" sh < ${settleFile}`,
    release,
  ];
}

/** Changes whenever the recipe does, so that a base made by an older clm is never taken for the new one. */
export function recipeDigest(release: Release): string {
  const all = JSON.stringify([recipe(release, ""), settle]);
  return createHash("sha256").update(all).digest("hex").slice(0, 12);
}
