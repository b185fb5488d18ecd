import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * Joins a socket here with a stream to a host: the bytes as they come, no faster than the slower side takes them, and each
 * side may end before the other. `isOpen` tells whether the road between them is still there: a stream that ended with its
 * road was cut, and whoever reads here must not take that for the end.
 */
export function joined(here: Socket, there: Duplex, isOpen: () => boolean): void {
  here.setNoDelay(true);
  here.on("error", () => {});
  there.on("error", () => {});
  here.on("close", () => there.destroy());
  there.on("end", () => {
    // The ends of its streams are told before the road's own.
    setImmediate(() => (isOpen() ? here.end() : here.resetAndDestroy()));
  });
  there.on("close", () => {
    // Nobody takes any more what comes; it is read, so that the end of it is noticed.
    here.unpipe(there);
    here.resume();
  });
  here.pipe(there);
  there.pipe(here, { end: false });
}
