import { setTimeout as sleep } from "node:timers/promises";
import { asFault, type Fault, type FaultName } from "../../errors.js";
import { listenOnLoopback, type PortChoice } from "./listen-on-loopback.js";
import { PortForwarder, type TunnelEndpoint } from "./port-forwarder.js";

export type TunnelEvent =
  | { event: "open"; port: number }
  | { event: "lost"; why: Fault }
  /** Still lost, now for another reason. */
  | { event: "waiting"; why: Fault }
  | { event: "back"; port: number }
  | { event: "closed" };

// Milliseconds. An endpoint that is lost sooner than this counts as a repeated failure.
const brief = 10_000;

export interface TunnelOptions {
  local: PortChoice;
  /** Connects to the host and verifies the endpoint. */
  connect: () => Promise<TunnelEndpoint>;
  tell: (event: TunnelEvent) => void;
  signal: AbortSignal;
  /** Milliseconds between two attempts to reconnect. */
  pauses?: { first: number; longest: number };
  /** Milliseconds a client waits while the tunnel is down. */
  timeout?: number;
}

/** Failures worth a retry. Any other ends the tunnel: a host with another key, for example, is not the same host. */
const temporary: readonly FaultName[] = [
  "unreachable",
  "connection-lost",
  "remote-failed",
  "remote-timeout",
  "check-failed",
  "not-ready",
];

/** Until stopped. Reconnects with growing pauses, and verifies the endpoint each time. */
export async function keepTunnelOpen(options: TunnelOptions): Promise<void> {
  const { local, connect, tell, signal, timeout = 5000, pauses = { first: 500, longest: 15_000 } } = options;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const forwarder = new PortForwarder(timeout);
  const listener = await listenOnLoopback(local, (socket) => void forwarder.forward(socket));
  const { port } = listener;

  /** Without a reason only a client failed. If the first attempt succeeds, the tunnel was never lost. */
  async function reconnect(why: Fault | undefined, firstPause: number): Promise<TunnelEndpoint> {
    let reported = why?.message;
    if (why) tell({ event: "lost", why });
    for (let pause = firstPause; ; pause = Math.min(Math.max(pause * 2, pauses.first), pauses.longest)) {
      if (pause > 0) await sleep(pause, undefined, { signal });
      try {
        const endpoint = await connect();
        if (reported !== undefined) tell({ event: "back", port });
        return endpoint;
      } catch (error) {
        signal.throwIfAborted();
        const fault = asFault(error);
        if (!temporary.includes(fault.fault)) throw fault;
        if (fault.message !== reported) tell({ event: reported === undefined ? "lost" : "waiting", why: fault });
        reported = fault.message;
      }
    }
  }

  let endpoint: TunnelEndpoint | undefined;
  let opened = false;
  try {
    endpoint = await connect();
    forwarder.setEndpoint(endpoint);
    tell({ event: "open", port });
    opened = true;
    for (let failures = 0; !signal.aborted; ) {
      const since = Date.now();
      const why = await Promise.race([endpoint.ended, forwarder.failed(), stopped]);
      if (signal.aborted) break;
      forwarder.setEndpoint(undefined);
      await endpoint.close();
      endpoint = undefined;
      // A dashboard that crashes at once, for example, must not be restarted in a tight loop.
      failures = Date.now() - since < brief ? failures + 1 : 0;
      const pause = failures > 1 ? Math.min(pauses.first * 2 ** (failures - 2), pauses.longest) : 0;
      endpoint = await reconnect(why ?? undefined, pause);
      forwarder.setEndpoint(endpoint);
    }
  } catch (error) {
    // Stopping an open tunnel is its normal end.
    if (!opened || !signal.aborted) throw error;
  } finally {
    forwarder.setEndpoint(undefined);
    await listener.close();
    await endpoint?.close();
    if (opened) tell({ event: "closed" });
  }
}
