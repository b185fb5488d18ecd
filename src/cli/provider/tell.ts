import type { Check } from "../../flows/host/check.js";
import type { Ui } from "../../ui/ui.js";

/** What a test on the way said, when it did not stop the command. */
export function tellCheck(ui: Ui, check: Check | undefined): void {
  if (check?.result === "warn") ui.warn(check.fix ? `${check.reason}; ${check.fix}` : check.reason);
  else if (check) ui.note(check.result === "skipped" ? `not tested: ${check.reason}` : `tested: ${check.reason}`);
}
