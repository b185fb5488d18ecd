export type SudoKind = "root" | "passwordless" | "password" | "none";

/** How to reach a host. A host record is one. */
export interface Target {
  name: string;
  address: string;
  port?: number | undefined;
  user?: string | undefined;
  identity?: string | undefined;
  sudo?: SudoKind | undefined;
  /** A jump host: named by its address, and not in the fleet. */
  jump?: boolean;
}
