import { type UsageGroup, usageOf } from "../../../flows/gateway/usage.js";
import type { Totals } from "../../../gateway/allowance/totals.js";
import type { Handler } from "../../command.js";
import { parseTime } from "../../parse-time.js";
import type { usage } from "./commands.js";
import { dollars } from "./money.js";

export const run: Handler<typeof usage> = async ({ options }, clm) => {
  const { key, agent, since, by } = options;
  const from = since === undefined ? undefined : dateOf(since, clm.now());
  const { rows, total } = await usageOf(clm.configDir, { key, agent, since: from, by });
  if (clm.format !== "table") {
    clm.show({ by, rows: rows.map((row) => ({ ...named(row, by), ...asData(row) })), total: asData(total) });
    return undefined;
  }
  clm.list(rows.length === 0 ? [] : [...rows, { of: "total", ...total }], {
    columns: [
      { title: by, value: ({ of }) => of, whole: true },
      { title: "requests", value: ({ requests }) => requests },
      { title: "errors", value: ({ errors }) => errors, drop: 1 },
      { title: "input", value: ({ input }) => input },
      { title: "output", value: ({ output }) => output },
      { title: "cost", value: ({ nano }) => dollars(nano) },
    ],
    name: ({ of }) => of,
    empty: `No requests ${since === undefined ? "yet" : "in that time"}.`,
  });
};

/** Totals are by UTC days, so dates are in UTC too. */
function dateOf(since: string, now: Date): Date {
  const moment = parseTime("--since", since, { now, utc: true });
  return new Date("at" in moment ? moment.at * 1000 : now.getTime() - moment.ago * 1000);
}

const named = ({ of, id }: UsageGroup, by: string) => ({ [by]: of, ...(id !== undefined && { id }) });

const asData = ({ requests, errors, input, output, nano }: Totals) => ({
  requests,
  errors,
  input,
  output,
  usd: nano / 1e9,
});
