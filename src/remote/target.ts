/** How root is reached on a host. */
export type SudoKind = "root" | "passwordless" | "password" | "none";

/** What must be known of a host to reach it. A host record is one. */
export interface Target {
  name: string;
  address: string;
  port?: number | undefined;
  user?: string | undefined;
  identity?: string | undefined;
  sudo?: SudoKind | undefined;
  /** Only passed through on the way to another; it goes by its address and is in no fleet. */
  jump?: boolean;
}
