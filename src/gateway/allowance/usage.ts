import { sweepTemps } from "../../state/atomic-file.js";
import { type Amount, createTally, nanoOf, type Tally, type UsageLine, type UsageRow } from "./totals.js";
import { readUsageFile, writeUsageFile } from "./usage-file.js";

/** The lines of the audit log from a number on. */
export type Lines = (from: number) => AsyncIterable<UsageLine>;

/** What keys used, as the audit log has it, and what was used a moment ago and is not in the log yet. */
export interface Usage {
  /** A call ended: it counts from now on, and goes over into the totals with its line. */
  owe(key: string, spent: Amount): void;
  /** A line that was written, or was found in the log at the start. */
  take(line: UsageLine): void;
  /** What a key used in a day (`2026-11-16`), in a month (`2026-11`) or `ever`. */
  spent(key: string, period: string): Amount;
  /** The most that one call of a key came to on a target; nothing when it had none. */
  largest(key: string, target: string): Amount | undefined;
  rows(): UsageRow[];
  /** Saves what is not saved. Afterwards nothing is saved by itself. */
  close(): Promise<void>;
}

/** What is saved and what the log has after that: the same whether a gateway runs or not. */
export async function readUsage(dir: string, lines: Lines, last = Number.POSITIVE_INFINITY): Promise<Tally> {
  const { seq, rows } = readUsageFile(dir);
  const tally = createTally(Math.min(seq, last), rows);
  for await (const line of lines(seq + 1)) if (line.seq > tally.seq) tally.take(line);
  return tally;
}

export interface UsageOptions {
  lines: Lines;
  /** Of the log's last line. One that somebody took away begins anew, and what it says counts all the same. */
  last?: number;
  /** Milliseconds between two savings. */
  pause?: number;
}

/**
 * Usage of the gateway that runs. usage.json is behind the log by a second or so and says up to which line it goes: a killed
 * gateway loses nothing and counts nothing twice.
 */
export async function openUsage(dir: string, { lines, last, pause = 1000 }: UsageOptions): Promise<Usage> {
  const tally = await readUsage(dir, lines, last);
  sweepTemps(dir, "usage.json");
  const owed = new Map<string, Amount>();
  let saved = 0;
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> | undefined;
  let closed = false;

  function owe(key: string, { tokens, nano }: Amount): void {
    const sum = owed.get(key) ?? { tokens: 0, nano: 0 };
    // Never below nothing: a line tells of a call that this gateway did not see end only at its start.
    const now = { tokens: Math.max(0, sum.tokens + tokens), nano: Math.max(0, sum.nano + nano) };
    if (now.tokens === 0 && now.nano === 0) owed.delete(key);
    else owed.set(key, now);
  }

  async function save(): Promise<void> {
    const { seq } = tally;
    if (seq === saved) return;
    try {
      await writeUsageFile(dir, `{ "version": 1, "seq": ${seq}, "rows": ${tally.json()} }\n`);
      saved = seq;
    } catch {
      // It is in the log, which refuses requests when it cannot be written; the next saving tries again.
    }
  }

  function saveSoon(): void {
    if (timer || saving || closed) return;
    timer = setTimeout(async () => {
      timer = undefined;
      saving = save();
      await saving;
      saving = undefined;
      if (tally.seq !== saved) saveSoon();
    }, pause).unref();
  }

  return {
    owe,
    take(line) {
      const { input = 0, output = 0 } = line.tokens ?? {};
      const nano = nanoOf(line.usd ?? 0);
      tally.take(line);
      if (line.key && (input > 0 || output > 0 || nano > 0)) owe(line.key.id, { tokens: -input - output, nano: -nano });
      saveSoon();
    },
    spent(key, period) {
      const { tokens, nano } = tally.spent(key, period);
      const now = owed.get(key);
      return now ? { tokens: tokens + now.tokens, nano: nano + now.nano } : { tokens, nano };
    },
    largest: tally.largest,
    rows: tally.rows,
    async close() {
      closed = true;
      clearTimeout(timer);
      await saving;
      await save();
    },
  };
}
