import { type Amount, Tally } from "../../../../src/gateway/allowance/totals.js";
import type { Usage } from "../../../../src/gateway/allowance/usage.js";

/** Usage that nothing is saved of. */
export function usageInMemory(): Pick<Usage, "addUnlogged" | "take" | "spent" | "largest"> & { owed(): Amount } {
  const tally = new Tally();
  const owed = { tokens: 0, nano: 0 };
  return {
    addUnlogged(_key, { tokens, nano }) {
      owed.tokens += tokens;
      owed.nano += nano;
    },
    take: (line) => tally.take(line),
    spent(key, period) {
      const { tokens, nano } = tally.spent(key, period);
      return { tokens: tokens + owed.tokens, nano: nano + owed.nano };
    },
    largest: (key, target) => tally.largest(key, target),
    owed: () => owed,
  };
}
