import { byName, labelsFrom } from "../../names.js";
import { hasLabels, hostStore } from "../../state/hosts.js";
import type { Handler } from "../command.js";
import type { list } from "./commands.js";
import { hostView } from "./view.js";

export const run: Handler<typeof list> = async ({ options }, clm) => {
  const { hosts } = hostStore(clm.configDir).read();
  const chosen = hosts.filter(hasLabels(labelsFrom(options.label)));
  const none = hosts.length > 0 && { empty: `None of the ${hosts.length} hosts has that label.` };
  clm.list(chosen.sort(byName), { ...hostView(clm.now()), ...none });
};
