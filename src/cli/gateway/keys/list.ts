import { type KeySummary, listKeys } from "../../../flows/gateway/keys/list.js";
import { reachOf } from "../../../gateway/session-scope.js";
import { duration } from "../../../ui/time.js";
import type { Handler, View } from "../../command.js";
import type { list } from "./commands.js";
import { dollars } from "./money.js";

export const run: Handler<typeof list> = async (_input, clm) => {
  const now = clm.now();
  clm.list(await listKeys(clm.configDir, now), viewAt(now));
};

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
