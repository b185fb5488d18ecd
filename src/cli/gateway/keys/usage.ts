import { usageIn } from "../../../flows/gateway/usage.js";
import { before, dayOf, sumOf, type Totals, type UsageRow } from "../../../gateway/allowance/totals.js";
import { targetsAgent } from "../../../gateway/keys/rights.js";
import { findAgent } from "../../../state/agents.js";
import { findGatewayKey, type GatewayKeys, gatewayKeyStore } from "../../../state/gateway-keys.js";
import { hostStore } from "../../../state/hosts.js";
import { isGlob } from "../../../text/wildcard.js";
import type { Handler } from "../../command.js";
import { parseTime } from "../../parse-time.js";
import type { usage } from "./commands.js";
import { dollars } from "./money.js";

interface UsageQuery {
  key?: string | undefined;
  /** NAME, HOST/NAME or a pattern of one. */
  agent?: string | undefined;
  since?: Date | undefined;
}

export const run: Handler<typeof usage> = async ({ options }, clm) => {
  const { key, agent, since, by } = options;
  const { configDir } = clm;
  const keys = gatewayKeyStore(configDir).read();
  const all = (await usageIn(configDir)).rows();
  const from = since === undefined ? undefined : dateOf(since, clm.now());
  const rows = all.filter(filterFor(configDir, keys, all, { key, agent, since: from }));
  const grouped = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const id = { key: row.key, agent: row.target, day: row.day }[by];
    grouped.set(id, [...(grouped.get(id) ?? []), row]);
  }
  const groups = [...grouped]
    .map(([id, those]) => ({ id, of: by === "key" ? keyName(keys, id) : id, ...sumOf(those) }))
    .sort((a, b) => inOrder(a.of, b.of));
  const total = sumOf(rows);
  if (clm.format !== "table") {
    const data = groups.map(({ of, id, ...sums }) => ({ [by]: of, ...(by === "key" && { id }), ...asData(sums) }));
    return clm.show({ by, rows: data, total: asData(total) });
  }
  clm.list(groups.length === 0 ? [] : [...groups, { of: "total", ...total }], {
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

/** Throws for a key or an agent that does not exist and never did. */
function filterFor(configDir: string, keys: GatewayKeys, all: UsageRow[], { key, agent, since }: UsageQuery) {
  const id = key === undefined ? undefined : findGatewayKey(keys, key).id;
  const first = since && dayOf(since);
  const isOfAgent = ({ target }: UsageRow) => agent === undefined || targetsAgent(agent, target);
  // Removed agents have usage too; a name without any usage is probably mistyped.
  if (agent !== undefined && !isGlob(agent) && !all.some(isOfAgent)) findAgent(hostStore(configDir).read(), agent);
  return (row: UsageRow): boolean =>
    (id === undefined || row.key === id) &&
    (first === undefined || (row.day !== before && row.day >= first)) &&
    isOfAgent(row);
}

const keyName = ({ keys }: GatewayKeys, id: string): string =>
  (Object.hasOwn(keys, id) ? keys[id]?.name : undefined) ?? id;

/** `before` is older than every day. */
const inOrder = (a: string, b: string): number => Number(b === before) - Number(a === before) || (a < b ? -1 : 1);
const asData = ({ nano, ...totals }: Totals) => ({ ...totals, usd: nano / 1e9 });
