import { DelayedSave } from "../../async/delayed-save.js";
import { sweepTemps } from "../../state/atomic-file.js";
import { type Amount, amountOf, largerOf, plus, Tally, type UsageLine, type UsageRow } from "./totals.js";
import { readUsageFile, writeUsageFile } from "./usage-file.js";

export type Lines = (from: number) => AsyncIterable<UsageLine>;

/** The totals as saved, with the lines of the log after them: the same whether a gateway runs or not. */
export async function readUsage(dir: string, lines: Lines, last = Number.POSITIVE_INFINITY): Promise<Tally> {
  const { seq, rows } = readUsageFile(dir);
  const tally = new Tally(Math.min(seq, last), rows);
  for await (const line of lines(seq + 1)) if (line.seq > tally.seq) tally.take(line);
  return tally;
}

const nothing: Amount = { tokens: 0, nano: 0 };

export interface UsageOptions {
  lines: Lines;
  /** The number of the log's last line: a log that was removed starts again, and its new lines count. */
  last?: number;
  /** Milliseconds between a change and its saving. */
  pause?: number;
}

/** usage.json is a second behind the log and has its last line's number: a kill loses and double-counts nothing. */
export class Usage {
  /** By key: used, and not in the log yet. */
  readonly #unlogged = new Map<string, Amount>();
  readonly #save: DelayedSave;

  static async open(dir: string, { lines, last, pause = 1000 }: UsageOptions): Promise<Usage> {
    const tally = await readUsage(dir, lines, last);
    sweepTemps(dir, "usage.json");
    return new Usage(dir, tally, pause);
  }

  private constructor(
    dir: string,
    private readonly tally: Tally,
    pause: number,
  ) {
    const content = () => `{ "version": 1, "seq": ${tally.seq}, "rows": ${tally.json()} }\n`;
    this.#save = new DelayedSave(() => writeUsageFile(dir, content()), pause);
    // Lines that the log had after the last saving.
    if (tally.seq > 0) this.#save.changed();
  }

  /** A call ended: it counts from now on, and moves to the totals with its line. */
  addUnlogged(key: string, amount: Amount): void {
    // Never below zero: at its start, the gateway writes lines of calls that it did not see end.
    const now = largerOf(nothing, plus(this.#unlogged.get(key) ?? nothing, amount));
    if (now.tokens === 0 && now.nano === 0) this.#unlogged.delete(key);
    else this.#unlogged.set(key, now);
  }

  take(line: UsageLine): void {
    this.tally.take(line);
    const { tokens, nano } = amountOf(line);
    if (line.key && (tokens > 0 || nano > 0)) this.addUnlogged(line.key.id, { tokens: -tokens, nano: -nano });
    this.#save.changed();
  }

  /** What a key used in a day (`2026-11-16`), in a month (`2026-11`) or `ever`. */
  spent(key: string, period: string): Amount {
    return plus(this.tally.spent(key, period), this.#unlogged.get(key) ?? nothing);
  }

  largest(key: string, target: string): Amount | undefined {
    return this.tally.largest(key, target);
  }

  rows(): UsageRow[] {
    return this.tally.rows();
  }

  close(): Promise<void> {
    return this.#save.close();
  }
}
