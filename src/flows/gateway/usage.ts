import { join } from "node:path";
import { before, dayOf, none, sumOf, type Tally, type Totals, type UsageRow } from "../../gateway/allowance/totals.js";
import { readUsage } from "../../gateway/allowance/usage.js";
import { readRequestLines } from "../../gateway/audit/read.js";
import { findAgent } from "../../state/agents.js";
import { findGatewayKey, type GatewayKeys, gatewayKeyStore } from "../../state/gateway-keys.js";
import { hostStore } from "../../state/hosts.js";
import { isGlob, matchesPattern } from "../../text/wildcard.js";

export type Grouping = "key" | "agent" | "day";

export interface UsageQuery {
  key?: string | undefined;
  /** NAME, HOST/NAME or a pattern of one. */
  agent?: string | undefined;
  since?: Date | undefined;
  by: Grouping;
}

/** Totals of one key, agent or day. */
export interface UsageGroup extends Totals {
  /** The key's name, the agent as `host/agent`, or the day. */
  of: string;
  /** The key's id, where it is one. */
  id?: string;
}

export interface UsageAnswer {
  rows: UsageGroup[];
  total: Totals;
}

/** The current totals, whether a gateway runs or not. */
export function usageIn(configDir: string): Promise<Tally> {
  const dir = join(configDir, "gateway");
  return readUsage(dir, (from) => readRequestLines(dir, { from }));
}

export async function usageOf(configDir: string, question: UsageQuery): Promise<UsageAnswer> {
  const keys = gatewayKeyStore(configDir).read();
  const all = (await usageIn(configDir)).rows();
  const rows = all.filter(filterFor(configDir, keys, all, question));
  const groups = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const group = { key: row.key, agent: row.target, day: row.day }[question.by];
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  const used = [...groups].map(([group, those]) => ({ ...named(group, question.by, keys), ...sumOf(those) }));
  return { rows: used.sort((a, b) => inOrder(a.of, b.of)), total: sumOf(rows) };
}

/** Throws for a key or an agent that does not exist and never did. */
function filterFor(configDir: string, keys: GatewayKeys, all: UsageRow[], { key, agent, since }: UsageQuery) {
  const id = key === undefined ? undefined : findGatewayKey(keys, key).id;
  const first = since && dayOf(since);
  const isOfAgent = ({ target }: UsageRow) => agent === undefined || isTarget(agent, target);
  // Removed agents have usage too; a name without any usage is probably mistyped.
  if (agent !== undefined && !isGlob(agent) && !all.some(isOfAgent)) findAgent(hostStore(configDir).read(), agent);
  return (row: UsageRow): boolean =>
    (id === undefined || row.key === id) &&
    (first === undefined || (row.day !== before && row.day >= first)) &&
    isOfAgent(row);
}

/** `host/agent/proxy` counts for the agent. */
function isTarget(word: string, target: string): boolean {
  const [host = "", name = ""] = target.split("/");
  return target !== none && matchesPattern(word, word.includes("/") ? `${host}/${name}` : name);
}

function named(group: string, by: Grouping, { keys }: GatewayKeys): Pick<UsageGroup, "of" | "id"> {
  if (by !== "key") return { of: group };
  return { of: (Object.hasOwn(keys, group) ? keys[group]?.name : undefined) ?? group, id: group };
}

/** `before` is older than every day. */
const inOrder = (a: string, b: string): number => Number(b === before) - Number(a === before) || (a < b ? -1 : 1);
