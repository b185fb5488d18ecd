import { existsSync } from "node:fs";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault } from "../errors.js";
import type { Progress } from "../ui/ui.js";
import { attempt, hasProgram, run, stopIfAborted } from "./command.js";
import type { LabOptions, WorkOptions } from "./types.js";

const needed: [program: string, pkg: string][] = [
  ["mmdebstrap", "mmdebstrap"],
  ["systemd-nspawn", "systemd-container"],
  ["ip", "iproute2"],
  ["ssh-keygen", "openssh-client"],
  ["nsenter", "util-linux"],
  ["setpriv", "util-linux"],
  ["flock", "util-linux"],
  ["mount", "mount"],
];

// Ubuntu lacks the keys that sign Debian.
const keyrings = ["gpg", "pgp"].map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`);

export function mustBeRoot(command: string): void {
  if (process.platform !== "linux") {
    throw new Fault("local-setup", "a lab needs Linux", { why: `this machine runs ${process.platform}` });
  }
  if (process.getuid?.() === 0) return;
  throw new Fault("local-setup", "a lab needs root on this machine", {
    why: "it makes network namespaces, mounts and containers",
    next: `sudo ${command}`,
  });
}

/** Missing packages; throws when they cannot be installed from here. */
export function packagesToInstall({ internet }: LabOptions): string[] {
  const lacking = needed.filter(([program]) => !hasProgram(program)).map(([, pkg]) => pkg);
  if (!keyrings.some((path) => existsSync(path))) lacking.push("debian-archive-keyring");
  if (internet && !hasProgram("nft") && !hasProgram("iptables")) lacking.push("nftables");
  const missing = [...new Set(lacking)];
  if (missing.length === 0 || (hasProgram("apt-get") && process.getuid?.() === 0)) return missing;
  throw new Fault("local-setup", `a lab needs packages this machine lacks: ${missing.join(", ")}`, {
    next: `sudo apt-get install ${missing.join(" ")}`,
  });
}

export async function ensurePackages(options: LabOptions & WorkOptions): Promise<void> {
  const { signal, progress } = options;
  const missing = packagesToInstall(options);
  if (missing.length === 0) return;
  const install = ["install", "--yes", "--no-install-recommends", ...missing];
  progress.update(`installing ${missing.join(", ")}`);
  // Not interruptible: dpkg would have to be repaired by hand.
  const how = { outlives: true, output: progress.output, env: { DEBIAN_FRONTEND: "noninteractive" } };
  const { code } = await attempt("apt-get", install, how);
  if (code !== 0) {
    // Its package lists are probably missing or old.
    await run("apt-get", ["update"], how);
    await run("apt-get", install, how);
  }
  stopIfAborted(signal);
}

export async function mustHaveSpace(directory: string, megabytes: number, what: string): Promise<void> {
  let there = directory;
  while (!existsSync(there)) there = dirname(there);
  const { bavail, bsize } = await statfs(there);
  const free = Math.floor((bavail * bsize) / 2 ** 20);
  if (free >= megabytes) return;
  throw new Fault("local-setup", `not enough space for ${what}`, {
    why: `it needs ${megabytes} MB in ${directory}; ${free} MB are free there`,
    next: "free some, or set CLM_LAB_DIR and CLM_LAB_CACHE to directories on a larger disk",
  });
}

const instances = "/proc/sys/fs/inotify/max_user_instances";

/** Every systemd takes several of the machine's 128 inotify instances: after about 20 hosts, "Too many open files". */
export async function raiseLimits(progress: Progress): Promise<void> {
  const now = Number(await readFile(instances, "utf8"));
  if (now >= 8192) return;
  await writeFile(instances, "8192\n");
  progress.output(`raised fs.inotify.max_user_instances from ${now} to 8192 until this machine restarts`);
}
