import { Agent, type ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Secret } from "../../secret.js";

export interface PooledConnectionEvents {
  free(connection: PooledConnection): void;
  /** The upstream rejected the bearer. */
  refused(): void;
  closed(connection: PooledConnection): void;
}

/** One kept-alive HTTP/1.1 connection, as an `Agent` of Node's HTTP client that has exactly one socket to give. */
export class PooledConnection extends Agent {
  /** Milliseconds since 1970; set while idle. */
  idleSince = 0;
  /** Nothing more can be sent; the `close` event may follow later. */
  over = false;
  /** Takes no new request; closes after the current one. */
  retired = false;
  readonly #drop = () => this.destroy();

  constructor(
    readonly stream: Duplex,
    /** For the Host header. */
    readonly authority: string,
    readonly bearer: Secret | undefined,
    /** The SSH connection that carries it. */
    readonly ssh: Readonly<{ open: boolean }>,
    private readonly events: PooledConnectionEvents,
  ) {
    super({ keepAlive: true });
    asSocket(stream);
    stream.on("error", () => {});
    stream.on("free", () => {
      if (!this.over) events.free(this);
    });
    stream.once("close", () => {
      this.over = true;
      events.closed(this);
    });
  }

  addRequest(request: ClientRequest): void {
    request.onSocket(this.stream as Socket);
  }

  /** Marks it idle. Whatever an idle upstream sends ends the connection, and is noticed only by reading. */
  rest(): void {
    this.idleSince = Date.now();
    this.stream.on("data", this.#drop).on("end", this.#drop);
    this.stream.resume();
  }

  wake(): void {
    this.stream.off("data", this.#drop).off("end", this.#drop);
  }

  /** Returns it unused to the pool. */
  giveBack(): void {
    if (!this.over) this.events.free(this);
  }

  bearerRefused(): void {
    this.events.refused();
  }

  override destroy(): void {
    this.over = true;
    this.stream.destroy();
  }
}

const nothing = () => {};

/** Node's client calls a few methods that only sockets have. */
function asSocket(stream: Duplex): void {
  const socket = stream as Duplex &
    Partial<Record<"setTimeout" | "setKeepAlive" | "setNoDelay" | "ref" | "unref" | "destroySoon", unknown>>;
  for (const name of ["setTimeout", "setKeepAlive", "setNoDelay", "ref", "unref"] as const) socket[name] ??= nothing;
  socket.destroySoon ??= () => stream.destroy();
}
