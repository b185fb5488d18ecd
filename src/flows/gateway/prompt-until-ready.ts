import { Fault } from "../../errors.js";
import { withMembers } from "../../text/with-members.js";
import type { Ui } from "../../ui/ui.js";

/** Prompts for passwords until the gateway is ready, and never after: a request would wait for an answer that may not come. */
export function promptUntilReady(ui: Ui): { ui: Ui; ready(): void } {
  let isReady = false;
  const askSecret: Ui["askSecret"] = (question) => {
    if (!isReady) return ui.askSecret(question);
    throw new Fault("needs-answer", `no prompt while the gateway serves: ${question.message}`, {
      next: "clm gateway serve",
    });
  };
  return {
    ui: withMembers(ui, { askSecret }),
    ready() {
      isReady = true;
    },
  };
}
