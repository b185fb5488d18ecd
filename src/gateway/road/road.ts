import type { Duplex } from "node:stream";
import { isFault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { waitFor } from "../../wait.js";
import { Refusal } from "../refusal.js";
import { Breaker } from "./breaker.js";
import { Lane } from "./lane.js";
import { noRoad } from "./refused.js";

/** A way to a port of a host. */
export interface Way {
  connection: Readonly<{ open: boolean }>;
  port: number;
  /** Sent with every request; a proxy has none. */
  bearer?: Secret;
  /** A connection that was seen to be of the process that should have the port, and on which nothing was sent yet. */
  open(): Promise<Duplex>;
}

export interface RoadOptions {
  /** `ada on wolf-i`. */
  title: string;
  /** Connects to the host; `stop` says that nobody waits any more. */
  find(stop: AbortSignal): Promise<Way>;
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

/** A way, with the first connection on it. */
interface Found {
  way: Way;
  stream: Duplex;
}

/**
 * Kept-alive connections to one port of a host, inside SSH. Each was seen to be of the right process when it was opened, and
 * stays with that process until it ends: a request on it needs no other look.
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
  #finding: Promise<Found> | undefined;
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
    this.#finding = undefined;
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
    const until = Date.now() + this.#options.patience;
    for (;;) {
      const age = this.#age;
      const { way, stream } = (await this.#opened(until, age)) ?? {};
      if (!way || !stream) continue;
      if (age !== this.#age) {
        stream.destroy();
        continue;
      }
      const events = {
        free: (lane: Lane) => this.#free(lane),
        closed: (lane: Lane) => this.#closed(lane),
        refused: () => this.renew(),
      };
      const lane = new Lane(stream, `127.0.0.1:${way.port}`, way.bearer, way.connection, events);
      this.#lanes.add(lane);
      return lane;
    }
  }

  /** A connection on the way that is known, or on one that is found for it; nothing when it is to be tried again. */
  async #opened(until: number, age: number): Promise<Found | undefined> {
    const way = this.#way;
    try {
      if (way?.connection.open) return { way, stream: await this.#stream(way, until) };
    } catch (error) {
      if (this.#way === way) this.#way = undefined;
      if (age !== this.#age) return undefined;
      // The connection to the host has ended since: there may be another.
      if (way?.connection.open) throw this.#ended(error);
    }
    this.#options.host.mustBeWorthTrying();
    this.#own.mustBeWorthTrying();
    if (this.#finding) {
      await this.#finding;
      return undefined;
    }
    const finding = this.#find().finally(() => {
      if (this.#finding === finding) this.#finding = undefined;
    });
    this.#finding = finding;
    return finding;
  }

  /** Finds the way and opens the first connection on it; whoever comes meanwhile waits for that. */
  async #find(): Promise<Found> {
    const { find, patience, title, host } = this.#options;
    const stop = new AbortController();
    const age = this.#age;
    const own = this.#own;
    const until = Date.now() + patience;
    let way: Way | undefined;
    host.begun();
    own.begun();
    try {
      way = await waitFor(find(stop.signal), { timeout: patience, late: () => noAnswer(title, patience) });
      const stream = await this.#stream(way, until);
      if (age === this.#age) this.#way = way;
      host.ended();
      own.ended();
      this.#options.tried?.(undefined);
      return { way, stream };
    } catch (error) {
      stop.abort(error);
      throw this.#noted(error, own, way !== undefined);
    }
  }

  #stream(way: Way, until: number): Promise<Duplex> {
    const left = Math.max(until - Date.now(), 1);
    const late = () => noAnswer(this.#options.title, left);
    return waitFor(way.open(), { timeout: left, late, drop: (stream) => stream.destroy() });
  }

  /** A way that leads nowhere any more does not for the next ones either. */
  #ended(error: unknown): Refusal {
    this.#options.host.begun();
    this.#own.begun();
    return this.#noted(error, this.#own, true);
  }

  /** Why it was tried in vain, for all who come soon. A port that takes long is no reason to keep the host's others waiting. */
  #noted(error: unknown, own: Breaker, connected: boolean): Refusal {
    const { host, tried } = this.#options;
    const { refusal, answered, ...road } = noRoad(error);
    const isSlow = error instanceof Refusal || isFault(error, "remote-timeout");
    const ofHost = road.ofHost && !(connected && isSlow);
    host.ended(ofHost ? refusal : undefined);
    own.ended(refusal);
    if (ofHost) tried?.(error);
    else if (answered) tried?.(undefined);
    return refusal;
  }
}

const noAnswer = (title: string, timeout: number): Refusal =>
  new Refusal(503, "host_unreachable", `no answer on the way to ${title} within ${timeout / 1000} s`, {
    retryAfter: 1,
  });
