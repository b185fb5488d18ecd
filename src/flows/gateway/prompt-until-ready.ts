import { Fault } from "../../errors.js";
import type { Ui } from "../../ui/ui.js";

/** Prompts for passwords until the gateway is ready, and never after: a request would wait for somebody who may not be there. */
export function promptUntilReady(ui: Ui): { ui: Ui; ready(): void } {
  let isReady = false;
  const asking: Pick<Ui, "askSecret"> = {
    askSecret(question) {
      if (!isReady) return ui.askSecret(question);
      throw new Fault("needs-answer", `no prompt while the gateway serves: ${question.message}`, {
        next: "clm gateway serve",
      });
    },
  };
  return {
    ui: Object.assign(Object.create(ui) as Ui, asking),
    ready() {
      isReady = true;
    },
  };
}
