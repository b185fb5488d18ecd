import type { CallOutcome, GatewayCall } from "../request/gateway-call.js";

/** Sums of requests. Money is in billionths of a dollar: whole numbers add up the same in every order. */
export interface Totals {
  requests: number;
  errors: number;
  input: number;
  output: number;
  nano: number;
}

/** The part of a line of the gateway's audit log that counts. */
export interface UsageLine extends Pick<GatewayCall, "target">, Pick<CallOutcome, "status" | "tokens" | "usd"> {
  seq: number;
  at: string | number;
  key?: { id: string } | undefined;
}

export interface UsageRow extends Totals {
  /** `2026-11-16` in UTC, or `before` for all days older than those that are kept. */
  day: string;
  key: string;
  target: string;
  /** Of the largest call. */
  most_tokens: number;
  most_nano: number;
}

export interface Amount {
  tokens: number;
  nano: number;
}

export const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, nano: a.nano + b.nano });

export const largerOf = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(a.tokens, b.tokens),
  nano: Math.max(a.nano, b.nano),
});

/** In place of the key or the target of a request that had none. */
export const none = "-";
export const before = "before";
export const dayOf = (at: string | number | Date): string => new Date(at).toISOString().slice(0, 10);
export const nanoOf = (usd: number): number => Math.round(usd * 1e9);
export const usdOf = (nano: number): number => nano / 1e9;

export function amountOf({ tokens, usd = 0 }: UsageLine): Amount {
  const { input = 0, output = 0 } = tokens ?? {};
  return { tokens: input + output, nano: nanoOf(usd) };
}

const empty = (): Totals => ({ requests: 0, errors: 0, input: 0, output: 0, nano: 0 });

export function add(to: Totals, { requests, errors, input, output, nano }: Totals): void {
  to.requests += requests;
  to.errors += errors;
  to.input += input;
  to.output += output;
  to.nano += nano;
}

export function sumOf(rows: Iterable<Totals>): Totals {
  const sum = empty();
  for (const row of rows) add(sum, row);
  return sum;
}

interface Day {
  rows: Map<string, UsageRow>;
  /** Its rows as JSON, until they change. */
  text: string | undefined;
}

/** Days that are kept apart; all older ones are one. */
const keptDays = 400;

export class Tally {
  readonly #days = new Map<string, Day>();
  /** By key and period, so that nothing has to be added up for a request. */
  readonly #spent = new Map<string, Amount>();
  readonly #largest = new Map<string, Amount>();

  constructor(
    /** The number of the last line that is in it. */
    public seq = 0,
    rows: readonly UsageRow[] = [],
  ) {
    for (const row of rows) this.#add(row);
  }

  take(line: UsageLine): void {
    const day = dayOf(line.at);
    const { input = 0, output = 0 } = line.tokens ?? {};
    const { tokens, nano } = amountOf(line);
    const isNewDay = !this.#days.has(day);
    this.#add({
      day,
      key: line.key?.id ?? none,
      target: line.target ?? none,
      requests: 1,
      errors: line.status >= 400 ? 1 : 0,
      input,
      output,
      nano,
      most_tokens: tokens,
      most_nano: nano,
    });
    if (isNewDay) this.#foldOld(day);
    this.seq = line.seq;
  }

  spent(key: string, period: string): Amount {
    return this.#spent.get(`${key} ${period}`) ?? { tokens: 0, nano: 0 };
  }

  largest(key: string, target: string): Amount | undefined {
    return this.#largest.get(`${key} ${target}`);
  }

  rows(): UsageRow[] {
    return [...this.#days.values()].flatMap((day) => [...day.rows.values()]);
  }

  /** The rows as JSON. Only days that changed are converted again. */
  json(): string {
    const texts = [...this.#days.values()].map((day) => {
      day.text ??= [...day.rows.values()].map((row) => JSON.stringify(row)).join(",\n");
      return day.text;
    });
    return `[\n${texts.join(",\n")}\n]`;
  }

  #add(row: UsageRow): void {
    this.#put(row);
    const { day, key, target, input, output, nano, most_tokens, most_nano } = row;
    if (most_tokens > 0) {
      const amount = { tokens: most_tokens, nano: most_nano };
      this.#largest.set(`${key} ${target}`, largerOf(this.largest(key, target) ?? amount, amount));
    }
    for (const period of day === before ? ["ever"] : [day, day.slice(0, 7), "ever"]) {
      this.#spent.set(`${key} ${period}`, plus(this.spent(key, period), { tokens: input + output, nano }));
    }
  }

  #put(row: UsageRow): void {
    const day: Day = this.#days.get(row.day) ?? { rows: new Map(), text: undefined };
    this.#days.set(row.day, day);
    day.text = undefined;
    const id = `${row.key} ${row.target}`;
    const found = day.rows.get(id);
    if (!found) return void day.rows.set(id, { ...row });
    add(found, row);
    found.most_tokens = Math.max(found.most_tokens, row.most_tokens);
    found.most_nano = Math.max(found.most_nano, row.most_nano);
  }

  #foldOld(today: string): void {
    const oldest = dayOf(Date.parse(today) - (keptDays - 1) * 86_400_000);
    for (const [day, { rows }] of this.#days) {
      if (day === before || day >= oldest) continue;
      this.#days.delete(day);
      for (const row of rows.values()) this.#put({ ...row, day: before });
    }
  }
}
