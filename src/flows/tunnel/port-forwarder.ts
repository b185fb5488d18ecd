import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";

export interface TunnelEndpoint {
  connection: Readonly<Pick<Connection, "open">>;
  /** A stream that was verified to end at the right process. */
  open(): Promise<Duplex>;
  /** Resolves with the reason when the endpoint is gone. */
  ended: Promise<Fault>;
  close(): Promise<void>;
}

// Milliseconds between two attempts of one client, while the endpoint is being checked.
const retryPause = 100;

export class PortForwarder {
  #endpoint: TunnelEndpoint | undefined;
  #failure: Promise<unknown> | undefined;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** `timeout`: milliseconds a client may wait. */
  constructor(private readonly timeout: number) {}

  /** Without an endpoint, clients wait. */
  setEndpoint(endpoint: TunnelEndpoint | undefined): void {
    this.#endpoint = endpoint;
    if (endpoint) this.#changes.emit("endpoint");
  }

  /** Resolves when the current endpoint could not be opened for a client. */
  async failed(): Promise<void> {
    this.#failure ??= once(this.#changes, "failure");
    await this.#failure;
    this.#failure = undefined;
  }

  /** Forwards a client, or disconnects it after the timeout. */
  async forward(socket: Socket): Promise<void> {
    const late = AbortSignal.timeout(this.timeout);
    while (!socket.destroyed && !late.aborted) {
      if (!this.#endpoint) {
        await once(this.#changes, "endpoint", { signal: late }).catch(() => {});
        continue;
      }
      const { connection } = this.#endpoint;
      try {
        const remote = await this.#endpoint.open();
        if (socket.destroyed) remote.destroy();
        else joinStreams(socket, remote, () => connection.open);
        return;
      } catch {
        if (this.#endpoint?.connection === connection) this.#changes.emit("failure");
        await sleep(retryPause);
      }
    }
    socket.resetAndDestroy();
  }
}

/** When the SSH connection is gone (`!isOpen()`), the answer was cut: the local side gets a reset, not a clean end. */
function joinStreams(local: Socket, remote: Duplex, isOpen: () => boolean): void {
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
