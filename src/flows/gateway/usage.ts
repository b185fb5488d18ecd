import { join } from "node:path";
import type { Tally } from "../../gateway/allowance/totals.js";
import { readUsage } from "../../gateway/allowance/usage.js";
import { readRequestLines } from "../../gateway/audit/read.js";

/** The current totals, whether a gateway runs or not. */
export function usageIn(configDir: string): Promise<Tally> {
  const dir = join(configDir, "gateway");
  return readUsage(dir, (from) => readRequestLines(dir, { from }));
}
