import { Agent, type ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Secret } from "../../secret.js";

/** What becomes of a lane, told to the road it belongs to. */
export interface LaneEvents {
  free(lane: Lane): void;
  /** Whoever answers does not take its bearer. */
  refused(): void;
  closed(lane: Lane): void;
}

/**
 * One kept-alive HTTP/1.1 connection. Node's client takes its socket from an `Agent`; this one has one to give, to one
 * request at a time.
 */
export class Lane extends Agent {
  /** Milliseconds since 1970, while nobody uses it. */
  idleSince = 0;
  /** Nothing more can be sent on it; that it has ended may be told later. */
  over = false;
  /** What it was made by does not hold any more: whoever has it now is the last. */
  retired = false;
  #closed = false;
  readonly #drop = () => this.destroy();

  constructor(
    readonly stream: Duplex,
    /** As the server there knows itself. */
    readonly authority: string,
    readonly bearer: Secret | undefined,
    /** What it runs in. */
    readonly connection: Readonly<{ open: boolean }>,
    private readonly events: LaneEvents,
  ) {
    super({ keepAlive: true });
    asSocket(stream);
    stream.on("error", () => {});
    stream.on("free", () => {
      if (!this.over) events.free(this);
    });
    stream.on("close", () => {
      if (this.#closed) return;
      this.#closed = true;
      this.over = true;
      events.closed(this);
    });
  }

  addRequest(request: ClientRequest): void {
    request.onSocket(this.stream as Socket);
  }

  /** Nobody uses it: whatever it says now is its end, and is noticed only by who listens. */
  rest(): void {
    this.idleSince = Date.now();
    this.stream.on("data", this.#drop).on("end", this.#drop);
    this.stream.resume();
  }

  wake(): void {
    this.stream.off("data", this.#drop).off("end", this.#drop);
  }

  /** Nothing was sent on it, so it is as good as before. */
  giveBack(): void {
    if (!this.over) this.events.free(this);
  }

  /** Who answers on it said that its bearer is none of theirs: nobody is to send that any more. */
  bearerRefused(): void {
    this.events.refused();
  }

  override destroy(): void {
    this.over = true;
    this.stream.destroy();
  }
}

const nothing = () => {};

/** Node's client expects a few methods that only sockets have. */
function asSocket(stream: Duplex): void {
  const socket = stream as Duplex &
    Partial<Record<"setTimeout" | "setKeepAlive" | "setNoDelay" | "ref" | "unref" | "destroySoon", unknown>>;
  for (const name of ["setTimeout", "setKeepAlive", "setNoDelay", "ref", "unref"] as const) socket[name] ??= nothing;
  socket.destroySoon ??= () => stream.destroy();
}
