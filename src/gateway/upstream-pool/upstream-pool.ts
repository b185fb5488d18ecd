import type { Duplex } from "node:stream";
import { waitFor } from "../../async/wait.js";
import { isFault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { Refusal } from "../request/refusal.js";
import { Breaker } from "./breaker.js";
import { connectFailure } from "./connect-failure.js";
import { PooledConnection } from "./pooled-connection.js";

/** A port of a host, reached over SSH, whose owner is verified for every new connection. */
export interface VerifiedEndpoint {
  connection: Readonly<{ open: boolean }>;
  port: number;
  /** Sent with every request; a proxy has none. */
  bearer?: Secret;
  /** A new stream that was verified to end at the right process; nothing was sent on it yet. */
  open(): Promise<Duplex>;
}

export interface UpstreamPoolOptions {
  /** `ada on wolf-i`. */
  title: string;
  /** Connects to the host; aborted when no request waits any more. */
  connect(stop: AbortSignal): Promise<VerifiedEndpoint>;
  /** Shared by all pools of the host. */
  hostBreaker: Breaker;
  /** Called after each attempt that tells whether the host answers, with the error if it does not. */
  onAttempt?(error: unknown): void;
  maxConnections?: number;
  /** Milliseconds that an unused connection is kept. */
  idleTimeout?: number;
  /** Milliseconds to connect. */
  timeout?: number;
}

interface Waiter {
  give(connection: PooledConnection): void;
  fail(error: unknown): void;
}

interface OpenedEndpoint {
  endpoint: VerifiedEndpoint;
  /** The first stream on it. */
  stream: Duplex;
}

/** What is known of one address with one bearer. What was begun with former ones is discarded. */
interface Generation {
  breaker: Breaker;
  endpoint?: VerifiedEndpoint | undefined;
  connecting?: Promise<OpenedEndpoint> | undefined;
}

/** Kept-alive connections to one port, inside SSH. Verified when opened, each belongs to one process until it ends. */
export class UpstreamPool {
  readonly #options: Required<Omit<UpstreamPoolOptions, "onAttempt">> & Pick<UpstreamPoolOptions, "onAttempt">;
  #current: Generation = { breaker: new Breaker() };
  readonly #idle: PooledConnection[] = [];
  readonly #waiting: Waiter[] = [];
  readonly #connections = new Set<PooledConnection>();
  #count = 0;

  constructor(options: UpstreamPoolOptions) {
    this.#options = { maxConnections: 64, idleTimeout: 30_000, timeout: 5000, ...options };
  }

  /** A connection for one request; it returns to the pool by itself once its answer was read to the end. */
  take(signal: AbortSignal): PooledConnection | Promise<PooledConnection> {
    // An aborted signal fires no further event.
    if (signal.aborted) return Promise.reject(signal.reason);
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.over) continue;
      idle.wake();
      return idle;
    }
    const waiter: Waiter = { give() {}, fail() {} };
    const turn = new Promise<PooledConnection>((give, fail) => Object.assign(waiter, { give, fail }));
    if (this.#count < this.#options.maxConnections) void this.#openFor(waiter);
    else this.#waiting.push(waiter);
    return waitFor(turn, { signal, drop: (connection) => connection.giveBack() }).catch((why) => {
      const at = this.#waiting.indexOf(waiter);
      if (at >= 0) this.#waiting.splice(at, 1);
      throw why;
    });
  }

  get open(): number {
    return this.#connections.size;
  }

  closeIdle(): void {
    const since = Date.now() - this.#options.idleTimeout;
    while (this.#idle[0] && this.#idle[0].idleSince <= since) this.#idle.shift()?.destroy();
  }

  /** The address or the bearer has changed: new requests reconnect, and current ones finish on their old connection. */
  renew(): void {
    this.#current = { breaker: new Breaker() };
    for (const connection of this.#connections) connection.retired = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  async #openFor(waiter: Waiter): Promise<void> {
    this.#count++;
    try {
      waiter.give(await this.#openConnection());
    } catch (error) {
      this.#count--;
      waiter.fail(error);
      this.#next();
    }
  }

  #next(): void {
    const next = this.#count < this.#options.maxConnections ? this.#waiting.shift() : undefined;
    if (next) void this.#openFor(next);
  }

  #free(connection: PooledConnection): void {
    const next = connection.retired ? undefined : this.#waiting.shift();
    if (connection.retired) connection.destroy();
    else if (next) next.give(connection);
    else {
      connection.rest();
      this.#idle.push(connection);
    }
  }

  #closed(connection: PooledConnection): void {
    this.#connections.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#count--;
    this.#next();
  }

  async #openConnection(): Promise<PooledConnection> {
    const until = Date.now() + this.#options.timeout;
    for (;;) {
      const generation = this.#current;
      const opened = await this.#openStream(until, generation);
      if (!opened || generation !== this.#current) {
        opened?.stream.destroy();
        continue;
      }
      const { endpoint, stream } = opened;
      const events = {
        free: (connection: PooledConnection) => this.#free(connection),
        closed: (connection: PooledConnection) => this.#closed(connection),
        refused: () => this.renew(),
      };
      const authority = `127.0.0.1:${endpoint.port}`;
      const connection = new PooledConnection(stream, authority, endpoint.bearer, endpoint.connection, events);
      this.#connections.add(connection);
      return connection;
    }
  }

  /** A stream on the known endpoint or on a new one; undefined when the caller should try again. */
  async #openStream(until: number, generation: Generation): Promise<OpenedEndpoint | undefined> {
    const { breaker, endpoint } = generation;
    try {
      if (endpoint?.connection.open) return { endpoint, stream: await this.#streamOn(endpoint, until) };
    } catch (error) {
      if (generation.endpoint === endpoint) generation.endpoint = undefined;
      if (generation !== this.#current) return undefined;
      // If the SSH connection has ended meanwhile, fall through and reconnect.
      if (endpoint?.connection.open) throw this.#endpointFailed(error, breaker);
    }
    this.#options.hostBreaker.throwIfOpen();
    breaker.throwIfOpen();
    if (generation.connecting) {
      await generation.connecting;
      return undefined;
    }
    generation.connecting = this.#connect(generation).finally(() => {
      generation.connecting = undefined;
    });
    return generation.connecting;
  }

  async #connect(generation: Generation): Promise<OpenedEndpoint> {
    const { connect, timeout, title, hostBreaker } = this.#options;
    const { breaker } = generation;
    const stop = new AbortController();
    const until = Date.now() + timeout;
    let endpoint: VerifiedEndpoint | undefined;
    hostBreaker.attemptStarted();
    breaker.attemptStarted();
    try {
      endpoint = await waitFor(connect(stop.signal), { timeout, late: () => noAnswer(title, timeout) });
      const stream = await this.#streamOn(endpoint, until);
      generation.endpoint = endpoint;
      hostBreaker.attemptEnded();
      breaker.attemptEnded();
      this.#options.onAttempt?.(undefined);
      return { endpoint, stream };
    } catch (error) {
      stop.abort(error);
      throw this.#attemptFailed(error, breaker, endpoint !== undefined);
    }
  }

  #streamOn(endpoint: VerifiedEndpoint, until: number): Promise<Duplex> {
    const left = Math.max(until - Date.now(), 1);
    const late = () => noAnswer(this.#options.title, left);
    return waitFor(endpoint.open(), { timeout: left, late, drop: (stream) => stream.destroy() });
  }

  #endpointFailed(error: unknown, breaker: Breaker): Refusal {
    this.#options.hostBreaker.attemptStarted();
    breaker.attemptStarted();
    return this.#attemptFailed(error, breaker, true);
  }

  /** Opens the breakers. A slow port on a host that is connected must not block the host's other agents. */
  #attemptFailed(error: unknown, breaker: Breaker, connected: boolean): Refusal {
    const { hostBreaker, onAttempt } = this.#options;
    const failure = connectFailure(error);
    const isSlow = error instanceof Refusal || isFault(error, "remote-timeout");
    const hostWide = failure.hostWide && !(connected && isSlow);
    hostBreaker.attemptEnded(hostWide ? failure.refusal : undefined);
    breaker.attemptEnded(failure.refusal);
    if (hostWide) onAttempt?.(error);
    else if (failure.hostAnswered) onAttempt?.(undefined);
    return failure.refusal;
  }
}

const noAnswer = (title: string, timeout: number): Refusal =>
  new Refusal(503, "host_unreachable", `no answer from ${title} within ${timeout / 1000} s`, { retryAfter: 1 });
