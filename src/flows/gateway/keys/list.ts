import { type Amount, dayOf, type Tally } from "../../../gateway/allowance/totals.js";
import { formerOpens, type GatewayKey, type KeyState, stateOf } from "../../../gateway/keys/key.js";
import { byName } from "../../../names.js";
import { gatewayKeyStore } from "../../../state/gateway-keys.js";
import { usageIn } from "../usage.js";

/** A key without its hash, with its state and usage. */
export interface KeySummary extends Omit<GatewayKey, "hash" | "former"> {
  state: KeyState;
  /** Until when the secret from before a rotation is valid. */
  former_until?: string;
  /** What it used today, and in the period of its budget. */
  today: Amount;
  spent: Amount;
}

/** All keys, active ones first. */
export async function listKeys(configDir: string, now: Date): Promise<KeySummary[]> {
  const keys = Object.values(gatewayKeyStore(configDir).read().keys);
  if (keys.length === 0) return [];
  const usage = await usageIn(configDir);
  return keys
    .map((key) => summaryOf(key, usage, now))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || byName(a, b));
}

const order: KeyState[] = ["active", "expired", "revoked"];

function summaryOf(key: GatewayKey, usage: Tally, now: Date): KeySummary {
  const { hash: _, former, ...shown } = key;
  const day = dayOf(now);
  const period = { day, month: day.slice(0, 7), ever: "ever" }[key.budget?.per ?? "ever"];
  return {
    ...shown,
    state: stateOf(key, now),
    ...(former && formerOpens(key, now) && { former_until: former.until }),
    today: usage.spent(key.id, day),
    spent: usage.spent(key.id, period),
  };
}
