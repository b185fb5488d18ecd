// Installs what a fresh clone lacks: node modules, and the Debian packages of the lab and its tests.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";

/** Runs a program with its output shown and without input; exits when it fails. */
export function must(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Installs node modules when they are missing or older than the lockfile. */
export function ensureModules(folder = ".") {
  const installed = `${folder}/node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${folder}/package-lock.json`).mtimeMs) return;
  // Not `npm ci`: it refuses a lockfile without the optional binaries of every other platform, which a mirror may not
  // have. Versions and digests still come from the lockfile, which --no-save keeps unchanged.
  const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  // In `npm pack --dry-run`, or with NODE_ENV=production, npm would skip what the build needs.
  must("npm", ["install", ...options, "--no-dry-run", "--include=dev"], { cwd: folder });
}

// The package of each program; only missing ones are installed.
const programs = {
  mmdebstrap: "mmdebstrap",
  "systemd-nspawn": "systemd-container",
  ip: "iproute2",
  nft: "nftables",
  ssh: "openssh-client",
  busybox: "busybox",
  jq: "jq",
  curl: "curl",
};

/** Whether a program is installed. */
export const onPath = (program) =>
  `${process.env.PATH}:/usr/sbin:/sbin`.split(":").some((folder) => existsSync(`${folder}/${program}`));

/** Installs missing Debian packages as root; otherwise prints the command and returns false. */
export function ensurePackages(wanted = programs) {
  const missing = [
    ...new Set(
      Object.keys(wanted)
        .filter((program) => !onPath(program))
        .map((program) => wanted[program]),
    ),
  ];
  if (missing.length === 0) return true;
  const install = `apt-get install -y --no-install-recommends ${missing.join(" ")}`;
  const debian = existsSync("/etc/os-release") && /debian/.test(readFileSync("/etc/os-release", "utf8"));
  if (process.getuid?.() !== 0 || !debian) {
    console.error(`These Debian packages are needed for lab hosts: ${missing.join(" ")}\n  run: sudo ${install}`);
    return false;
  }
  console.error(`installing ${missing.join(" ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  must("apt-get", ["update", "-qq"], { env, stdio: ["ignore", "ignore", "inherit"] });
  must("sh", ["-c", `${install} -qq`], { env, stdio: ["ignore", "ignore", "inherit"] });
  return true;
}

/** Lab hosts need root; without it prints so and returns false. */
export function ensureRoot(what) {
  if (process.getuid?.() === 0) return true;
  console.error(
    `${what} makes real hosts on this machine and needs root for it.\n  run: sudo npm ${what.replace("npm ", "")}`,
  );
  return false;
}

if (import.meta.url === `file://${process.argv[1]}`) ensureModules();
