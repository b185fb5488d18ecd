import type { Tokens } from "../gateway-call.js";

/** What was asked and used. Money is in billionths of a dollar: whole numbers add up the same in every order. */
export interface Totals {
  requests: number;
  errors: number;
  input: number;
  output: number;
  nano: number;
}

/** What a line of the gateway's audit log says about use. */
export interface UsageLine {
  seq: number;
  at: string | number;
  key?: { id: string } | undefined;
  target?: string | undefined;
  status: number;
  tokens?: Tokens | undefined;
  usd?: number | undefined;
}

/** Totals of one day, key and target. */
export interface UsageRow extends Totals {
  /** `2026-11-16` in UTC, or `before` for all that is older than the days that are kept. */
  day: string;
  key: string;
  target: string;
  /** Of the largest call. */
  most_tokens: number;
  most_nano: number;
}

/** What a key used: of a day, a month, or ever since. */
export interface Amount {
  tokens: number;
  nano: number;
}

/** In the place of a key or a target that a request did not come to have. */
export const none = "-";
export const before = "before";

export const dayOf = (at: string | number | Date): string => new Date(at).toISOString().slice(0, 10);
export const nanoOf = (usd: number): number => Math.round(usd * 1e9);
export const usdOf = (nano: number): number => nano / 1e9;

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

/** Totals that grow by a line at a time. What a key spent is at hand for each day and month, without adding up. */
export interface Tally {
  /** Of the last line that is in it. */
  readonly seq: number;
  take(line: UsageLine): void;
  spent(key: string, period: string): Amount;
  largest(key: string, target: string): Amount | undefined;
  rows(): UsageRow[];
  /** The rows as JSON. Only days that changed are written anew: all others are as long as 400 days. */
  json(): string;
}

interface Day {
  rows: Map<string, UsageRow>;
  /** Its rows as JSON, since they changed last. */
  text: string | undefined;
}

/** Days that are kept apart; what is older is one. */
const kept = 400;

export function createTally(seq = 0, rows: readonly UsageRow[] = []): Tally {
  const days = new Map<string, Day>();
  const spent = new Map<string, Amount>();
  const largest = new Map<string, Amount>();
  let last = seq;

  function put(row: UsageRow): void {
    const day: Day = days.get(row.day) ?? { rows: new Map(), text: undefined };
    days.set(row.day, day);
    day.text = undefined;
    const place = `${row.key} ${row.target}`;
    const found = day.rows.get(place);
    if (!found) return void day.rows.set(place, { ...row });
    add(found, row);
    found.most_tokens = Math.max(found.most_tokens, row.most_tokens);
    found.most_nano = Math.max(found.most_nano, row.most_nano);
  }

  function spend({ day, key, target, input, output, nano, most_tokens, most_nano }: UsageRow): void {
    if (most_tokens > 0) {
      const known = largest.get(`${key} ${target}`);
      largest.set(`${key} ${target}`, {
        tokens: Math.max(known?.tokens ?? 0, most_tokens),
        nano: Math.max(known?.nano ?? 0, most_nano),
      });
    }
    for (const period of day === before ? ["ever"] : [day, day.slice(0, 7), "ever"]) {
      const place = `${key} ${period}`;
      const sum = spent.get(place) ?? { tokens: 0, nano: 0 };
      spent.set(place, { tokens: sum.tokens + input + output, nano: sum.nano + nano });
    }
  }

  function foldOld(today: string): void {
    const oldest = dayOf(Date.parse(today) - (kept - 1) * 86_400_000);
    for (const [day, { rows }] of days) {
      if (day === before || day >= oldest) continue;
      days.delete(day);
      for (const row of rows.values()) put({ ...row, day: before });
    }
  }

  for (const row of rows) {
    put(row);
    spend(row);
  }

  return {
    get seq() {
      return last;
    },
    take(line) {
      const day = dayOf(line.at);
      const { input = 0, output = 0 } = line.tokens ?? {};
      const nano = nanoOf(line.usd ?? 0);
      const row: UsageRow = {
        day,
        key: line.key?.id ?? none,
        target: line.target ?? none,
        requests: 1,
        errors: line.status >= 400 ? 1 : 0,
        ...{ input, output, nano, most_tokens: input + output, most_nano: nano },
      };
      const isNewDay = !days.has(day);
      put(row);
      spend(row);
      if (isNewDay) foldOld(day);
      last = line.seq;
    },
    spent: (key, period) => spent.get(`${key} ${period}`) ?? { tokens: 0, nano: 0 },
    largest: (key, target) => largest.get(`${key} ${target}`),
    rows: () => [...days.values()].flatMap((day) => [...day.rows.values()]),
    json() {
      const texts = [...days.values()].map((day) => {
        day.text ??= [...day.rows.values()].map((row) => JSON.stringify(row)).join(",\n");
        return day.text;
      });
      return `[\n${texts.join(",\n")}\n]`;
    },
  };
}
