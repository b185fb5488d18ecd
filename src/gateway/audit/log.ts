import { cannotWrite, errnoOf } from "../../state/disk-fault.js";
import { createRate } from "../allowance/rate.js";
import type { CallOutcome, GatewayCall, Tokens } from "../gateway-call.js";
import { Refusal } from "../refusal.js";
import { callsLeftInFlight, type InFlightCall, type InFlightCalls, openInFlightCalls } from "./in-flight.js";
import { type Ledger, openLedger } from "./ledger.js";
import { readRequestLines } from "./read.js";
import { type OpenLine, requestLine } from "./request-line.js";

/**
 * The gateway's audit log: a line for each request, each with the hash of the one before. A line that was acknowledged is with the
 * system, so killing the gateway loses none. It is on the disk about a second later, so a power cut loses no more than that.
 * One process writes at a time: the one that holds the lock `gateway`.
 */
export interface RequestLog {
  /** Throws Refusal 503 audit_unavailable while lines cannot be written. Cheap. Tries again by itself, at most once a second. */
  mustBeWritable(): void;
  /**
   * Resolves with the line's number when it is with the system, not before; rejects with Refusal 503 audit_unavailable. Of those
   * that come without a key there are so many a minute; those beyond have no number, and the next line says how many they were.
   */
  write(call: GatewayCall, ending: CallOutcome): Promise<number | undefined>;
  /** A request is about to be sent on: killed from here on, its line is written at the next start. Throws as write does. */
  sent(sent: InFlightCall): void;
  /** The number of the last line that was there when it was opened, with those of a gateway that was killed. */
  readonly last: number;
  close(): Promise<void>;
}

export interface RequestLogOptions {
  /** A file that has grown beyond this is put away, and a new one begun. */
  maxBytes?: number | undefined;
  /** How many files that were put away are kept; without it, all. */
  keep?: number | undefined;
  now?: (() => Date) | undefined;
  /** Whether nobody else writes it; once somebody does, nothing more is written here. */
  isOurs?: (() => boolean) | undefined;
}

interface Waiting {
  id: string;
  line: OpenLine;
  written: (seq: number) => void;
  refused: (why: Refusal) => void;
}

const aSecond = 1000;
// Milliseconds for which it is taken to be ours still. Who lost it was silent for much longer.
const moment = 100;
// Whoever can connect could else push all lines that mean something out of the files that are kept.
const strangersAMinute = 120;

/** Opens the log in `<config dir>/gateway`, takes up what is there, and mends the end that a killed gateway left. */
export async function openRequestLog(
  dir: string,
  {
    maxBytes = 64 * 1024 * 1024,
    keep = Number.POSITIVE_INFINITY,
    now = () => new Date(),
    isOurs = () => true,
  }: RequestLogOptions = {},
): Promise<RequestLog> {
  const ledger = await openLedger(dir, { maxBytes, keep });
  let waiting: Waiting[] = [];
  let soon = false;
  let trouble: Refusal | undefined;
  let lookedAt = now().getTime();
  let timer: NodeJS.Timeout | undefined;
  let syncing: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  let askedAt = lookedAt;
  let lost: Refusal | undefined;
  const strangers = createRate();

  /** Why nothing is to be written any more, whatever the disk says. */
  function notOurs(): Refusal | undefined {
    const time = now().getTime();
    if (lost || Math.abs(time - askedAt) < moment) return lost;
    askedAt = time;
    if (!isOurs()) lost = unavailable(new Error("another gateway has taken this one's place"));
    return lost;
  }

  /** Once a second at most; a clock that was set back does not stop it. */
  function isTimeToLook(): boolean {
    const time = now().getTime();
    if (Math.abs(time - lookedAt) < aSecond) return false;
    lookedAt = time;
    return true;
  }

  /** Does it, or remembers why lines cannot be written. */
  function attempt(work: () => void): Refusal | undefined {
    try {
      work();
      trouble = undefined;
    } catch (error) {
      trouble = unavailable(error);
    }
    return trouble;
  }

  function mustBeWritable(): void {
    if (closing) throw unavailable(undefined);
    const other = notOurs();
    if (other) throw other;
    if (isTimeToLook()) attempt(trouble ? mend : ledger.look);
    if (trouble) throw trouble;
  }

  function mend(): void {
    ledger.mend();
    underWay.recreate();
    syncSoon();
  }

  /** What was sent on stays on file as under way, and has its line at the next start; of the rest, the next line says how many. */
  function missed(id: string): void {
    if (!underWay.has(id)) ledger.missed(1);
  }

  /** All of one turn of the loop goes out in one write to each file. */
  function writeSoon(): void {
    if (soon) return;
    soon = true;
    setImmediate(writeAll);
  }

  function writeAll(): void {
    soon = false;
    writeWaiting();
    underWay.flush();
  }

  function writeWaiting(): void {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    let seq = 0;
    const refusal =
      notOurs() ??
      trouble ??
      attempt(() => {
        seq = ledger.add(batch.map(({ line }) => line));
      });
    for (const { id, written, refused } of batch) {
      if (refusal) {
        missed(id);
        refused(refusal);
        continue;
      }
      underWay.end(id);
      written(seq++);
    }
    if (refusal) return;
    attempt(ledger.turnOver);
    syncSoon();
  }

  function syncSoon(): void {
    timer ??= setTimeout(() => {
      syncing = sync().finally(() => {
        syncing = undefined;
      });
    }, aSecond).unref();
  }

  async function sync(): Promise<void> {
    timer = undefined;
    await syncing;
    if (trouble || notOurs()) return;
    try {
      await ledger.sync();
    } catch (error) {
      trouble = unavailable(error);
    }
  }

  async function finish(): Promise<void> {
    writeAll();
    clearTimeout(timer);
    await syncing;
    await sync();
    ledger.close();
    underWay.close();
  }

  const underWay = await takenUp(dir, ledger);
  const { last } = ledger;

  return {
    last,
    sent(sent) {
      try {
        underWay.begin(sent);
      } catch (error) {
        trouble = unavailable(error);
        throw trouble;
      }
    },
    mustBeWritable,
    async write(call, ending) {
      try {
        mustBeWritable();
      } catch (refusal) {
        missed(call.id);
        throw refusal;
      }
      if (!call.key && strangers.count(strangersAMinute, now().getTime()) !== undefined) {
        ledger.missed(1);
        return undefined;
      }
      const line = requestLine(call, ending);
      writeSoon();
      return new Promise<number>((written, refused) => waiting.push({ id: call.id, line, written, refused }));
    },
    close() {
      closing ??= finish();
      return closing;
    },
  };
}

/** What a killed gateway left is in the chain before anything new is, and only then off its own file. */
async function takenUp(dir: string, ledger: Ledger): Promise<InFlightCalls> {
  try {
    const left = await callsLeftInFlight(dir, (from) => readRequestLines(dir, { from }));
    if (left.length > 0) ledger.add(left.map(({ call, tokens, usd }) => requestLine(call, killed(tokens, usd))));
    return openInFlightCalls(dir, () => ledger.last);
  } catch (error) {
    ledger.close();
    throw cannotWrite(dir, dir, error);
  }
}

/** How a request ended whose gateway was killed: nobody knows what it came to. */
const killed = (tokens: Tokens, usd: number | undefined): CallOutcome => ({
  ...{ status: 500, code: "gateway_killed", tokens: { ...tokens, estimated: true }, took: 0 },
  ...(usd !== undefined && { usd }),
});

/** Says what the system says, and no path: whoever asks need not know where things are here. Who runs the gateway is told the rest. */
function unavailable(error: unknown): Refusal {
  const code = errnoOf(error);
  return new Refusal(
    503,
    "audit_unavailable",
    `the gateway cannot write its audit log${code ? ` (${code})` : ""}, and answers nothing that is not in it`,
    { retryAfter: 1, cause: error },
  );
}
