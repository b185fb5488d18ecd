import { DelayedSave } from "../../async/delayed-save.js";
import { cannotWrite, errnoOf } from "../../state/disk-fault.js";
import { Rate } from "../allowance/rate.js";
import type { CallOutcome, GatewayCall, Tokens } from "../request/gateway-call.js";
import { Refusal } from "../request/refusal.js";
import { callsLeftInFlight, type InFlightCall, InFlightCalls } from "./in-flight.js";
import { Ledger } from "./ledger.js";
import { readRequestLines } from "./read.js";
import { type OpenLine, requestLine } from "./request-line.js";

export interface RequestLogOptions {
  /** A file that has grown beyond this is put away, and a new one started. */
  maxBytes?: number | undefined;
  /** How many files that were put away are kept; all by default. */
  keep?: number | undefined;
  now?: (() => Date) | undefined;
  /** Whether this process still holds the lock; once it does not, nothing more is written. */
  isOurs?: (() => boolean) | undefined;
}

interface PendingLine {
  id: string;
  line: OpenLine;
  written: (seq: number) => void;
  refused: (why: Refusal) => void;
}

const aSecond = 1000;
// Milliseconds for which the lock is not checked again: a process that lost it was suspended for much longer.
const lockInterval = 100;
// Anybody who can connect could otherwise push all other lines out of the files that are kept.
const keylessPerMinute = 120;

/**
 * The gateway's audit log: a line for each request, each with the hash of the one before. A line that was acknowledged is with the
 * kernel, so killing the gateway loses none; it is on the disk about a second later, which is what a power cut can lose. One
 * process writes at a time: the one that holds the lock `gateway`.
 */
export class RequestLog {
  /** The number of the last line when the log was opened, with those of a gateway that was killed. */
  readonly last: number;
  readonly #now: () => Date;
  readonly #isOurs: () => boolean;
  #waiting: PendingLine[] = [];
  /** Why lines cannot be written now. */
  #trouble: Refusal | undefined;
  /** Why lines will never be written again: another gateway has the lock. */
  #lost: Refusal | undefined;
  #triedAt: number;
  #lockCheckedAt: number;
  #closing: Promise<void> | undefined;
  readonly #save = new DelayedSave(() => this.#sync(), aSecond);
  readonly #keyless = new Rate();

  /** Opens the log in `<config dir>/gateway`, and repairs the end that a killed gateway left. */
  static async open(dir: string, options: RequestLogOptions = {}): Promise<RequestLog> {
    const { maxBytes = 64 * 1024 * 1024, keep = Number.POSITIVE_INFINITY } = options;
    const ledger = await Ledger.open(dir, { maxBytes, keep });
    return new RequestLog(ledger, await takeOverInFlight(dir, ledger), options);
  }

  private constructor(
    private readonly ledger: Ledger,
    private readonly inFlight: InFlightCalls,
    { now = () => new Date(), isOurs = () => true }: RequestLogOptions,
  ) {
    this.last = ledger.last;
    this.#now = now;
    this.#isOurs = isOurs;
    this.#triedAt = now().getTime();
    this.#lockCheckedAt = this.#triedAt;
  }

  /** Throws Refusal 503 audit_unavailable while lines cannot be written. Tries again by itself, at most once a second. */
  mustBeWritable(): void {
    if (this.#closing) throw unavailable(undefined);
    const lost = this.#lockLost();
    if (lost) throw lost;
    if (this.#isTimeToTry()) this.#attempt(this.#trouble ? () => this.#repair() : () => this.ledger.mustBeThere());
    if (this.#trouble) throw this.#trouble;
  }

  /** Before a request is sent on: killed from then on, its line is written at the next start. Throws as `write` does. */
  sent(call: InFlightCall): void {
    try {
      this.inFlight.begin(call);
    } catch (error) {
      this.#trouble = unavailable(error);
      throw this.#trouble;
    }
  }

  /**
   * Resolves with the line's number when the kernel has it; rejects with Refusal 503 audit_unavailable. Requests without a key
   * beyond the limit per minute have no line; the next line has their count.
   */
  async write(call: GatewayCall, outcome: CallOutcome): Promise<number | undefined> {
    try {
      this.mustBeWritable();
    } catch (refusal) {
      this.#missed(call.id);
      throw refusal;
    }
    if (!call.key && this.#keyless.count(keylessPerMinute, this.#now().getTime()) !== undefined) {
      this.ledger.missed(1);
      return undefined;
    }
    const line = requestLine(call, outcome);
    // All lines of one turn of the loop go out in one write to each file.
    if (this.#waiting.length === 0) setImmediate(() => this.#writeAll());
    return new Promise<number>((written, refused) => this.#waiting.push({ id: call.id, line, written, refused }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  #lockLost(): Refusal | undefined {
    const time = this.#now().getTime();
    if (this.#lost || Math.abs(time - this.#lockCheckedAt) < lockInterval) return this.#lost;
    this.#lockCheckedAt = time;
    if (!this.#isOurs()) this.#lost = unavailable(new Error("another gateway has replaced this one"));
    return this.#lost;
  }

  /** By the absolute difference, so that a clock that was set back does not stop it. */
  #isTimeToTry(): boolean {
    const time = this.#now().getTime();
    if (Math.abs(time - this.#triedAt) < aSecond) return false;
    this.#triedAt = time;
    return true;
  }

  #attempt(work: () => void): Refusal | undefined {
    try {
      work();
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = unavailable(error);
    }
    return this.#trouble;
  }

  #repair(): void {
    this.ledger.repair();
    this.inFlight.recreate();
    this.#save.changed();
  }

  /** A request that was sent on stays on file as in flight, and has its line at the next start; others are counted. */
  #missed(id: string): void {
    if (!this.inFlight.has(id)) this.ledger.missed(1);
  }

  #writeAll(): void {
    this.#writeWaiting();
    this.inFlight.flush();
  }

  #writeWaiting(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    let seq = 0;
    const add = () => {
      seq = this.ledger.add(batch.map(({ line }) => line));
    };
    const refusal = this.#lockLost() ?? this.#trouble ?? this.#attempt(add);
    for (const { id, written, refused } of batch) {
      if (refusal) {
        this.#missed(id);
        refused(refusal);
        continue;
      }
      this.inFlight.end(id);
      written(seq++);
    }
    if (refusal) return;
    this.#attempt(() => this.ledger.turnOver());
    this.#save.changed();
  }

  async #sync(): Promise<void> {
    if (this.#trouble || this.#lockLost()) return;
    try {
      await this.ledger.sync();
    } catch (error) {
      this.#trouble = unavailable(error);
    }
  }

  async #finish(): Promise<void> {
    this.#writeAll();
    await this.#save.close();
    this.ledger.close();
    this.inFlight.close();
  }
}

/** Requests that a killed gateway left get their lines before anything else, and leave the file of in-flight calls when these are on the disk. */
async function takeOverInFlight(dir: string, ledger: Ledger): Promise<InFlightCalls> {
  try {
    const left = await callsLeftInFlight(dir, (from) => readRequestLines(dir, { from }));
    if (left.length > 0) {
      ledger.add(left.map(({ call, tokens, usd }) => requestLine(call, killed(tokens, usd))));
      await ledger.sync();
    }
    return new InFlightCalls(dir, () => ledger.last);
  } catch (error) {
    ledger.close();
    throw cannotWrite(dir, dir, error);
  }
}

/** The outcome of a request whose gateway was killed: what it used is not known. */
const killed = (tokens: Tokens, usd: number | undefined): CallOutcome => ({
  status: 500,
  code: "gateway_killed",
  tokens: { ...tokens, estimated: true },
  took: 0,
  ...(usd !== undefined && { usd }),
});

/** Has the system's error code and no path, which callers need not know; the cause is for the gateway's own output. */
function unavailable(error: unknown): Refusal {
  const code = errnoOf(error);
  return new Refusal(
    503,
    "audit_unavailable",
    `the gateway cannot write its audit log${code ? ` (${code})` : ""}, and answers no request that is not in it`,
    { retryAfter: 1, cause: error },
  );
}
