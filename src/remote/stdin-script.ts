import { randomBytes } from "node:crypto";

/** Marks our own lines in an output: a banner or a `.bashrc` may write to stdout too. */
export const newNonce = (): string => `clm-${randomBytes(16).toString("hex")}`;

/** Works in any login shell. dd reads only the script from stdin; the rest is its input (`head -c` reads ahead). */
export const scriptShell = (script: string): string =>
  `/bin/sh -c 'eval "$(dd bs=${Buffer.byteLength(script)} count=1 iflag=fullblock status=none)"'`;

/** The same, replacing the login shell. */
export const commandFor = (script: string): string => `exec ${scriptShell(script)}`;
