import { usageIn } from "../../../flows/gateway/usage.js";
import { type Amount, dayOf, type Tally } from "../../../gateway/allowance/totals.js";
import { type GatewayKey, isFormerSecretValid, type KeyState, stateOf } from "../../../gateway/request/gateway-key.js";
import { reachOf } from "../../../gateway/request/session-scope.js";
import { byName } from "../../../names.js";
import { gatewayKeyStore } from "../../../state/gateway-keys.js";
import { duration } from "../../../ui/time.js";
import type { Handler, View } from "../../command.js";
import type { list } from "./commands.js";
import { dollars } from "./money.js";

interface KeySummary extends Omit<GatewayKey, "hash" | "former"> {
  state: KeyState;
  /** Until when the secret from before a rotation is valid. */
  former_until?: string;
  today: Amount;
  /** In the period of its budget. */
  spent: Amount;
}

export const run: Handler<typeof list> = async (_input, clm) => {
  const now = clm.now();
  const keys = Object.values(gatewayKeyStore(clm.configDir).read().keys);
  const usage = await usageIn(clm.configDir);
  const order: KeyState[] = ["active", "expired", "revoked"];
  const summaries = keys
    .map((key) => summaryOf(key, usage, now))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || byName(a, b));
  clm.list(summaries, viewAt(now));
};

function summaryOf(key: GatewayKey, usage: Tally, now: Date): KeySummary {
  const { hash: _, former, ...shown } = key;
  const day = dayOf(now);
  const period = { day, month: day.slice(0, 7), ever: "ever" }[key.budget?.per ?? "ever"];
  return {
    ...shown,
    state: stateOf(key, now),
    ...(former && isFormerSecretValid(key, now) && { former_until: former.until }),
    today: usage.spent(key.id, day),
    spent: usage.spent(key.id, period),
  };
}

const viewAt = (now: Date): View<KeySummary> => ({
  columns: [
    { title: "name", value: ({ name }) => name, whole: true },
    { title: "id", value: ({ id }) => id, whole: true },
    { title: "role", value: ({ role, signed }) => (signed ? `${role}, signed` : role), drop: 5 },
    { title: "agents", value: ({ agents }) => agents.join(","), drop: 4 },
    { title: "state", value: stateCell, whole: true },
    { title: "sessions", value: (key) => reachOf(key), drop: 7 },
    {
      title: "expires in",
      drop: 3,
      value: ({ expires_at, state }) =>
        expires_at !== undefined && state === "active" ? duration(Date.parse(expires_at) - now.getTime()) : undefined,
    },
    { title: "limits", value: limitsCell, drop: 6 },
    { title: "tokens today", value: ({ today }) => today.tokens, drop: 2 },
    { title: "spent", value: ({ spent }) => dollars(spent.nano), drop: 1 },
  ],
  data: ({ today, spent, ...key }) => ({
    ...key,
    sessions: reachOf(key),
    today: { tokens: today.tokens, usd: today.nano / 1e9 },
    spent: { tokens: spent.tokens, usd: spent.nano / 1e9 },
  }),
  name: ({ name }) => name,
  empty: "No gateway keys yet. Create one with: clm gateway key create --name NAME --agents PATTERNS",
});

const stateCell = ({ state, former_until }: KeySummary): string =>
  former_until !== undefined && state === "active" ? "active, rotating" : state;

function limitsCell({ rpm, concurrency, tokens_per_day, budget }: KeySummary): string {
  const per = budget && budget.per !== "ever" ? `/${budget.per}` : "";
  return [
    ...(rpm === undefined ? [] : [`${rpm}/min`]),
    ...(concurrency === undefined ? [] : [`${concurrency} at once`]),
    ...(tokens_per_day === undefined ? [] : [`${tokens_per_day} tokens/day`]),
    ...(budget ? [`$${budget.usd}${per}`] : []),
  ].join(", ");
}
