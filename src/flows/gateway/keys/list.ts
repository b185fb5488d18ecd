import { type Amount, dayOf, type Tally } from "../../../gateway/allowance/totals.js";
import { formerOpens, type GatewayKey, type KeyState, stateOf } from "../../../gateway/keys/key.js";
import { byName } from "../../../names.js";
import { gatewayKeyStore } from "../../../state/gateway-keys.js";
import { usageIn } from "../usage.js";

/** A key with what became of it. Nothing in it opens anything. */
export interface KeySummary extends Omit<GatewayKey, "hash" | "former"> {
  state: KeyState;
  /** Until when the secret from before a rotation still opens. */
  former_until?: string;
  /** What it used today, and of its budget: today, this month, or ever. */
  today: Amount;
  spent: Amount;
}

/** List: every key there is, those that can be used first. */
export async function listKeys(configDir: string, now: Date): Promise<KeySummary[]> {
  const keys = Object.values(gatewayKeyStore(configDir).read().keys);
  if (keys.length === 0) return [];
  const usage = await usageIn(configDir);
  return keys
    .map((key) => seen(key, usage, now))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || byName(a, b));
}

const order: KeyState[] = ["active", "expired", "revoked"];

function seen(key: GatewayKey, usage: Tally, now: Date): KeySummary {
  const { hash: _, former, ...told } = key;
  const day = dayOf(now);
  const period = { day, month: day.slice(0, 7), ever: "ever" }[key.budget?.per ?? "ever"];
  return {
    ...{ ...told, state: stateOf(key, now) },
    ...(former && formerOpens(key, now) && { former_until: former.until }),
    ...{ today: usage.spent(key.id, day), spent: usage.spent(key.id, period) },
  };
}
