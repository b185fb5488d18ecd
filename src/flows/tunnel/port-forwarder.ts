import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { joinStreams } from "./join-streams.js";

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

export interface PortForwarder {
  /** Without an endpoint, clients wait. */
  setEndpoint(endpoint: TunnelEndpoint | undefined): void;
  /** Resolves when the current endpoint could not be opened for a client. */
  failed(): Promise<void>;
  /** Forwards a client, or disconnects it after the timeout. */
  forward(socket: Socket): Promise<void>;
}

/** `timeout`: milliseconds a client may wait. */
export function portForwarder(timeout: number): PortForwarder {
  let endpoint: TunnelEndpoint | undefined;
  let reportFailure = () => {};
  const waiting = new Set<() => void>();

  return {
    setEndpoint(next) {
      endpoint = next;
      if (!next) return;
      for (const wake of waiting) wake();
    },
    failed: () =>
      new Promise((resolve) => {
        reportFailure = resolve;
      }),
    async forward(socket) {
      let late = false;
      let wake = () => {};
      const timer = setTimeout(() => {
        late = true;
        wake();
      }, timeout);
      while (!socket.destroyed && !late) {
        if (!endpoint) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            waiting.add(wake);
          });
          waiting.delete(wake);
          continue;
        }
        const { connection } = endpoint;
        try {
          const remote = await endpoint.open();
          clearTimeout(timer);
          if (socket.destroyed) remote.destroy();
          else joinStreams(socket, remote, () => connection.open);
          return;
        } catch {
          if (endpoint?.connection === connection) reportFailure();
          await sleep(retryPause);
        }
      }
      clearTimeout(timer);
      socket.resetAndDestroy();
    },
  };
}
