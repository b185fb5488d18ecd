import type { Progress } from "../ui/ui.js";

export const releases = ["bookworm", "trixie"] as const;
export type Release = (typeof releases)[number];

/** The most hosts a lab can have: `.11` to `.254` of its subnet. */
export const maxHosts = 244;

/** The login user of lab hosts, with passwordless sudo. */
export const loginUser = "clm";

export interface LabOptions {
  name: string;
  /** The number of hosts afterwards. */
  hosts: number;
  release: Release;
  /** NAT through this machine; a lab that has it keeps it. */
  internet: boolean;
}

/** running: it runs and its sshd answers; silent: it runs and nothing answers; stopped: it does not run. */
export type HostState = "running" | "silent" | "stopped";

export interface LabHost {
  name: string;
  address: string;
  port: 22;
  user: typeof loginUser;
  /** Its public host key, as in known_hosts: `ssh-ed25519 AAAA…`. */
  hostKey: string;
  /** The same in the form OpenSSH prints: `SHA256:…`. */
  fingerprint: string;
  state: HostState;
}

export interface Lab {
  name: string;
  release: Release;
  internet: boolean;
  hosts: LabHost[];
}

export interface WorkOptions {
  signal: AbortSignal;
  progress: Progress;
}
