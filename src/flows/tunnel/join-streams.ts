import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** When the SSH connection is gone (`!isOpen()`), the answer was cut: the local side gets a reset, not a clean end. */
export function joinStreams(local: Socket, remote: Duplex, isOpen: () => boolean): void {
  local.setNoDelay(true);
  local.on("error", () => {});
  remote.on("error", () => {});
  local.on("close", () => remote.destroy());
  remote.on("end", () => {
    // Streams end before their SSH connection reports its own end.
    setImmediate(() => (isOpen() ? local.end() : local.resetAndDestroy()));
  });
  remote.on("close", () => {
    // Keep reading, or the local end would go unnoticed.
    local.unpipe(remote);
    local.resume();
  });
  local.pipe(remote);
  remote.pipe(local, { end: false });
}
