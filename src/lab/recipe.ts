import { createHash } from "node:crypto";
import echo from "../../templates/standin/echo.py?raw";
import { loginUser, type Release } from "./types.js";

/** Packages of every lab host. Hosts have no internet by default, so all that tests and the stand-in need is here. */
export const included = `systemd systemd-sysv dbus libpam-systemd openssh-server sudo iproute2 procps python3
ca-certificates curl git ripgrep less python3-dotenv python3-yaml`.split(/\s+/);

// Useless in a throw-away host: each costs time at boot, or starts in the middle of a test.
const masked = `apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer
systemd-networkd-wait-online.service systemd-timesyncd.service e2scrub_reap.service
console-getty.service getty@.service container-getty@.service getty-static.service
dev-hugepages.mount sys-fs-fuse-connections.mount modprobe@.service`.split(/\s+/);

// Excluded only while the base is made: the setting is removed with the file below.
const left = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"];

/** Packages known to apt, to test installing without internet. The real ffmpeg would need 400 MB of libraries. */
const packages = `packages=/var/lib/clm-lab/packages
mkdir -p "$packages/ffmpeg/DEBIAN" "$packages/ffmpeg/usr/bin"
cat > "$packages/ffmpeg/DEBIAN/control" << 'END'
Package: ffmpeg
Version: 99+standin
Architecture: all
Maintainer: clm lab <root@localhost>
Description: stand-in for ffmpeg in a lab host
END
cat > "$packages/ffmpeg/usr/bin/ffmpeg" << 'END'
#!/bin/sh
echo 'ffmpeg version 99+standin (a stand-in of the lab; it converts nothing)'
[ "$1" = -version ]
END
chmod 0755 "$packages/ffmpeg/usr/bin/ffmpeg"
dpkg-deb --root-owner-group --build "$packages/ffmpeg" "$packages/ffmpeg.deb" > /dev/null
{
  cat "$packages/ffmpeg/DEBIAN/control"
  echo Filename: ./ffmpeg.deb
  echo "Size: $(stat -c %s "$packages/ffmpeg.deb")"
  echo "SHA256: $(sha256sum "$packages/ffmpeg.deb" | cut -d ' ' -f 1)"
} > "$packages/Packages"
rm -r "$packages/ffmpeg"
echo "deb [trusted=yes] file:$packages ./" > /etc/apt/sources.list.d/clm-lab.list
# The archive's own lists are large, soon old, and of no use without a way out.
rm -rf /var/lib/apt/lists/*
apt-get update --quiet -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/clm-lab.list -o Dir::Etc::sourceparts=-
apt-get install --quiet --yes ffmpeg`;

/** A provider that needs no key. It is started on the first request to its port. */
const provider = `install -d /usr/local/lib/clm-lab
cat > /usr/local/lib/clm-lab/echo.py << 'END OF ECHO'
${echo}END OF ECHO
cat > /etc/systemd/system/clm-lab-echo.socket << 'END'
[Unit]
Description=The lab's echo provider

[Socket]
ListenStream=127.0.0.1:4180

[Install]
WantedBy=sockets.target
END
cat > /etc/systemd/system/clm-lab-echo.service << 'END'
[Unit]
Description=The lab's echo provider

[Service]
ExecStart=/usr/bin/python3 /usr/local/lib/clm-lab/echo.py
DynamicUser=yes
END
systemctl --quiet enable clm-lab-echo.socket`;

/** Run as root inside the new tree, once its packages are installed. */
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
${packages}
${provider}
# Done here once, or every host does it again at its first boot.
ldconfig
journalctl --update-catalog
systemd-sysusers
touch /etc/.updated /var/.updated`;

/** Arguments of mmdebstrap, without the target; it reads the mirror on stdin and `settle` from a file. */
export function recipe(release: Release, settleFile: string): string[] {
  return [
    "--mode=root",
    "--format=directory",
    "--variant=minbase",
    `--include=${included.join(",")}`,
    ...left.map((path) => `--dpkgopt=path-exclude=${path}`),
    // The tree is used only when complete, and synced as a whole.
    "--dpkgopt=force-unsafe-io",
    // Cleaning would drop the list of the lab's own packages too.
    "--skip=cleanup/apt/lists",
    `--customize-hook=chroot "$1" sh < ${settleFile}`,
    release,
  ];
}

/** Changes with the recipe, so that a base made by an older clm is not used. */
export function recipeDigest(release: Release): string {
  const all = JSON.stringify([recipe(release, ""), settle]);
  return createHash("sha256").update(all).digest("hex").slice(0, 12);
}
