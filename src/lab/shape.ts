export const releases = ["bookworm", "trixie"] as const;

export type Release = (typeof releases)[number];

/** Who logs in to a lab host; may use sudo without a password. */
export const loginUser = "clm";

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

/** How long work says what it does. */
export interface Told {
  signal?: AbortSignal | undefined;
  /** What is being done right now. */
  progress?: ((message: string) => void) | undefined;
  /** A line of the work's own output. */
  output?: ((line: string) => void) | undefined;
}
