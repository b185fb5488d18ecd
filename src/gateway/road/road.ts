import type { Connection } from "../../remote/connection.js";
import type { Secret } from "../../secret.js";
import { Refusal } from "../refusal.js";
import { Breaker } from "./breaker.js";
import { Lane } from "./lane.js";
import { noRoad } from "./refused.js";

/** A way to a port that was seen to be held by who should hold it. */
export interface Way {
  connection: Pick<Connection, "open" | "forward">;
  port: number;
  /** Sent with every request; a proxy has none. */
  bearer?: Secret;
  /** When it was looked at. */
  at: number;
}

export interface RoadOptions {
  /** `ada on wolf-i`. */
  title: string;
  /** Connects and looks; `stop` says that nobody waits any more. */
  find(stop: AbortSignal): Promise<Way>;
  /** Whether what was seen then still holds. */
  isFresh(at: number): boolean;
  /** Of the host, shared by the roads to it. */
  host: Breaker;
  /** Told whenever it was tried to get there. */
  tried?(trouble: unknown): void;
  /** Connections at once. */
  most?: number;
  /** Milliseconds it may take to get there. */
  patience?: number;
}

interface Waiting {
  give(lane: Lane): void;
  fail(error: unknown): void;
}

/**
 * Kept-alive connections to one port of a host, inside SSH. One is opened only within the time that a look at the port is
 * good for; what the process behind the port has accepted stays with that process, and is good until it ends.
 */
export class Road {
  readonly #options: Required<Omit<RoadOptions, "tried">> & Pick<RoadOptions, "tried">;
  readonly #own = new Breaker();
  readonly #idle: Lane[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #lanes = new Set<Lane>();
  /** Those that are being opened count. */
  #count = 0;
  #way: Way | undefined;
  #looking: Promise<Way> | undefined;

  constructor(options: RoadOptions) {
    this.#options = { most: 64, patience: 5000, ...options };
  }

  /** A connection that nobody else uses; it comes back by itself when its answer has been read to its end. */
  take(signal: AbortSignal): Lane | Promise<Lane> {
    for (let lane = this.#idle.pop(); lane; lane = this.#idle.pop()) {
      if (lane.over) continue;
      lane.wake();
      return lane;
    }
    return new Promise((give, fail) => {
      const waiting: Waiting = {
        give: (lane) => {
          signal.removeEventListener("abort", leave);
          if (signal.aborted) this.#free(lane);
          else give(lane);
        },
        fail: (error) => {
          signal.removeEventListener("abort", leave);
          fail(error);
        },
      };
      const leave = () => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        fail(signal.reason);
      };
      signal.addEventListener("abort", leave);
      if (this.#count < this.#options.most) void this.#open(waiting);
      else this.#waiting.push(waiting);
    });
  }

  /** Closes what nobody has used since then. */
  closeIdle(since: number): void {
    while (this.#idle[0] && this.#idle[0].idleSince <= since) this.#idle.shift()?.destroy();
  }

  close(): void {
    for (const lane of this.#lanes) lane.destroy();
  }

  async #open(waiting: Waiting): Promise<void> {
    this.#count++;
    try {
      waiting.give(await this.#lane());
    } catch (error) {
      this.#count--;
      waiting.fail(error);
      this.#next();
    }
  }

  #next(): void {
    const next = this.#count < this.#options.most ? this.#waiting.shift() : undefined;
    if (next) void this.#open(next);
  }

  #free(lane: Lane): void {
    const next = this.#waiting.shift();
    if (next) next.give(lane);
    else {
      lane.rest();
      this.#idle.push(lane);
    }
  }

  #closed(lane: Lane): void {
    this.#lanes.delete(lane);
    const at = this.#idle.indexOf(lane);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#count--;
    this.#next();
  }

  async #lane(): Promise<Lane> {
    const { isFresh, patience, title } = this.#options;
    const until = Date.now() + patience;
    for (;;) {
      const way = await this.#found();
      const { connection, port, bearer, at } = way;
      try {
        const stream = await within(Math.max(until - Date.now(), 1), connection.forward(port), title, (late) => {
          late.destroy();
        });
        if (isFresh(at)) {
          const events = { free: (lane: Lane) => this.#free(lane), closed: (lane: Lane) => this.#closed(lane) };
          const lane = new Lane(stream, `127.0.0.1:${port}`, bearer, events);
          this.#lanes.add(lane);
          return lane;
        }
        stream.destroy();
      } catch (error) {
        if (this.#way === way) this.#way = undefined;
        throw this.#told(error);
      }
    }
  }

  /** What was seen holds while the connection does, and for a while; whoever comes during a look waits for the same one. */
  async #found(): Promise<Way> {
    const { isFresh, host } = this.#options;
    if (this.#way?.connection.open && isFresh(this.#way.at)) return this.#way;
    host.mustBeWorthTrying();
    this.#own.mustBeWorthTrying();
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<Way> {
    const { find, patience, title, host, tried } = this.#options;
    const stop = new AbortController();
    host.begun();
    this.#own.begun();
    try {
      this.#way = await within(patience, find(stop.signal), title);
      host.ended();
      this.#own.ended();
      tried?.(undefined);
      return this.#way;
    } catch (error) {
      stop.abort(error);
      const { refusal, ofHost } = noRoad(error);
      host.ended(ofHost ? refusal : undefined);
      this.#own.ended(refusal);
      if (ofHost) tried?.(error);
      throw refusal;
    }
  }

  /** A road that ends in the last step ends for the next ones too. */
  #told(error: unknown): Refusal {
    const { refusal } = noRoad(error);
    this.#own.begun();
    this.#own.ended(refusal);
    return refusal;
  }
}

/** Nobody waits longer for a host that does not answer; what comes too late is dropped. */
function within<T>(
  milliseconds: number,
  work: Promise<T>,
  title: string,
  drop: (late: T) => void = () => {},
): Promise<T> {
  return new Promise((done, failed) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      const text = `no answer on the way to ${title} within ${milliseconds / 1000} s`;
      failed(new Refusal(503, "host_unreachable", text, { retryAfter: 1 }));
    }, milliseconds);
    work.then(
      (result) => {
        clearTimeout(timer);
        if (late) drop(result);
        else done(result);
      },
      (error) => {
        clearTimeout(timer);
        failed(error);
      },
    );
  });
}
