import type { Connection } from "../../remote/connection.js";
import type { Secret } from "../../secret.js";
import type { Refusal } from "../refusal.js";
import { Breaker } from "./breaker.js";
import { Lane } from "./lane.js";
import { noRoad } from "./refused.js";
import { within } from "./within.js";

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
  /** Told whether its host answered, whenever it was tried to get there. */
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
  #own = new Breaker();
  readonly #idle: Lane[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #lanes = new Set<Lane>();
  /** Those that are being opened count. */
  #count = 0;
  #way: Way | undefined;
  #looking: Promise<Way> | undefined;
  /** Grows whenever what was known does not hold any more. */
  #age = 0;

  constructor(options: RoadOptions) {
    this.#options = { most: 64, patience: 5000, ...options };
  }

  /** A connection that nobody else uses; it comes back by itself when its answer has been read to its end. */
  take(signal: AbortSignal): Lane | Promise<Lane> {
    // What was aborted before is told nobody again.
    if (signal.aborted) return Promise.reject(signal.reason);
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

  /** Connections that are open now. */
  get open(): number {
    return this.#lanes.size;
  }

  /** Closes what nobody has used since then. */
  closeIdle(since: number): void {
    while (this.#idle[0] && this.#idle[0].idleSince <= since) this.#idle.shift()?.destroy();
  }

  /** Where it leads, or what is sent along it, is another: whoever comes now finds that, and who is under way comes to an end. */
  renew(): void {
    this.#age++;
    this.#way = undefined;
    this.#looking = undefined;
    this.#own = new Breaker();
    for (const lane of this.#lanes) lane.retired = true;
    for (const lane of this.#idle.splice(0)) lane.destroy();
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
    const next = lane.retired ? undefined : this.#waiting.shift();
    if (lane.retired) lane.destroy();
    else if (next) next.give(lane);
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
      const age = this.#age;
      const known = this.#way;
      const way = await this.#found();
      const { connection, port, bearer, at } = way;
      try {
        const stream = await within(Math.max(until - Date.now(), 1), connection.forward(port), title, (late) => {
          late.destroy();
        });
        if (isFresh(at) && age === this.#age) {
          const events = {
            free: (lane: Lane) => this.#free(lane),
            closed: (lane: Lane) => this.#closed(lane),
            refused: () => this.renew(),
          };
          const lane = new Lane(stream, `127.0.0.1:${port}`, bearer, connection, events);
          this.#lanes.add(lane);
          return lane;
        }
        stream.destroy();
      } catch (error) {
        if (age !== this.#age) continue;
        if (this.#way === way) this.#way = undefined;
        // What was seen a moment ago has ended since: a look of now says how.
        if (way === known) continue;
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
    if (this.#looking) return this.#looking;
    const looking = this.#look().finally(() => {
      if (this.#looking === looking) this.#looking = undefined;
    });
    this.#looking = looking;
    return looking;
  }

  async #look(): Promise<Way> {
    const { find, patience, title, host, tried } = this.#options;
    const stop = new AbortController();
    const age = this.#age;
    const own = this.#own;
    host.begun();
    own.begun();
    try {
      const way = await within(patience, find(stop.signal), title);
      if (age === this.#age) this.#way = way;
      host.ended();
      own.ended();
      tried?.(undefined);
      return way;
    } catch (error) {
      stop.abort(error);
      const { refusal, ofHost, answered } = noRoad(error);
      host.ended(ofHost ? refusal : undefined);
      own.ended(refusal);
      if (ofHost) tried?.(error);
      else if (answered) tried?.(undefined);
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
