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

export interface WorkOptions {
  signal: AbortSignal;
  progress: Progress;
}
