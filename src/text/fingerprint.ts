import { createHash } from "node:crypto";
import { Fault } from "../errors.js";

/** The fingerprint of a public key, as `ssh-keygen -l` prints it. */
export function fingerprint(blob: Buffer): string {
  return `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`;
}

/** A fingerprint as the user types it, in the form OpenSSH prints. */
export function fingerprintFrom(text: string): string {
  const trimmed = text.trim().replace(/=+$/, "");
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(trimmed)) return trimmed;
  throw new Fault("bad-input", `'${text}' is not a fingerprint`, {
    why: "a fingerprint is SHA256: and 43 letters and digits",
    next: "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub   # on the host itself",
  });
}
