import { type Amount, createTally } from "../../../../src/gateway/allowance/totals.js";
import type { Usage } from "../../../../src/gateway/allowance/usage.js";

/** Usage that nothing is saved of. */
export function usageInMemory(): Usage & { owed(): Amount } {
  const tally = createTally();
  const owed = { tokens: 0, nano: 0 };
  return {
    owe(_key, { tokens, nano }) {
      owed.tokens += tokens;
      owed.nano += nano;
    },
    take: (line) => tally.take(line),
    spent(key, period) {
      const { tokens, nano } = tally.spent(key, period);
      return { tokens: tokens + owed.tokens, nano: nano + owed.nano };
    },
    largest: tally.largest,
    rows: () => tally.rows(),
    close: async () => {},
    owed: () => owed,
  };
}
