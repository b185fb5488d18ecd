import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./command.js";
import { isMounted, unmountAt } from "./mounts.js";
import type { HostNames } from "./names.js";
import { loginUser } from "./types.js";

/** A host's root filesystem: an overlay of its changes over the base. */

export const rootOf = (host: HostNames): string => join(host.directory, "root");
const keyOf = (host: HostNames): string => join(host.directory, "host_key");
const madeMark = (host: HostNames): string => join(host.directory, "made");

/** Makes the host's key, so that it is known before the first connection; returns the public half. */
export async function makeHostKey(host: HostNames): Promise<string> {
  // Half of a pair may be left by a kill; that key was never used.
  await discard(host.directory);
  await mkdir(host.directory, { recursive: true, mode: 0o700 });
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", `root@${host.name}`, "-f", keyOf(host)]);
  const [type, blob = ""] = (await readFile(`${keyOf(host)}.pub`, "utf8")).split(" ");
  return `${type} ${blob}`;
}

export interface Identity {
  base: string;
  authorizedKey: string;
  resolv: string;
}

/** Mounts the host's root, creating it if new; earlier changes are kept. */
export async function ensureRoot(host: HostNames, identity: Identity): Promise<void> {
  if (!existsSync(madeMark(host))) {
    await unmountAt(rootOf(host));
    for (const part of ["upper", "work"]) await rm(join(host.directory, part), { recursive: true, force: true });
  }
  await mountRoot(host, identity.base);
  if (existsSync(madeMark(host))) return;
  await personalise(host, identity);
  await writeFile(madeMark(host), "");
}

async function mountRoot(host: HostNames, base: string): Promise<void> {
  const root = rootOf(host);
  if (await isMounted(root)) return;
  const [upper, work] = [join(host.directory, "upper"), join(host.directory, "work")];
  for (const directory of [upper, work, root]) await mkdir(directory, { recursive: true, mode: 0o755 });
  // Without redirect_dir a directory of the base could not be renamed.
  const options = `lowerdir=${base},upperdir=${upper},workdir=${work},redirect_dir=on`;
  await run("mount", ["-t", "overlay", "-o", options, `clm-${host.name}`, root]);
}

/** Only before the first boot: later a path may be a link made by the host, which leads to a file of this machine. */
async function personalise(host: HostNames, { authorizedKey, resolv }: Identity): Promise<void> {
  const root = rootOf(host);
  const write = async (path: string, content: string | Buffer, mode: number, owner = 0) => {
    const target = join(root, path);
    await rm(target, { force: true });
    await writeFile(target, content, { mode: 0o600 });
    await chown(target, owner, owner);
    await chmod(target, mode);
  };
  await write("etc/hostname", `${host.name}\n`, 0o644);
  // Without its own name sudo waits for a name server and complains.
  await write("etc/hosts", `127.0.0.1 localhost\n127.0.1.1 ${host.name}\n::1 localhost ip6-localhost\n`, 0o644);
  await write("etc/machine-id", `${randomBytes(16).toString("hex")}\n`, 0o444);
  await write("etc/resolv.conf", resolv, 0o644);
  await write(`home/${loginUser}/.ssh/authorized_keys`, `${authorizedKey.trim()}\n`, 0o600, 1000);
  await write("etc/ssh/ssh_host_ed25519_key.pub", await readFile(`${keyOf(host)}.pub`), 0o644);
  await write("etc/ssh/ssh_host_ed25519_key", await readFile(keyOf(host)), 0o600);
}

/** Unmounts everything in a directory and removes it; nothing is deleted through a mount. */
export async function discard(directory: string): Promise<void> {
  await unmountAt(directory);
  await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
