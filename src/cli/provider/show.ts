import { hostStore } from "../../state/hosts.js";
import { findProvider, providerStore } from "../../state/providers.js";
import { openSecrets } from "../../state/secrets.js";
import type { Handler } from "../command.js";
import type { show } from "./commands.js";
import { describeProvider, rowOf } from "./view.js";

export const run: Handler<typeof show> = async ({ args: { name } }, clm) => {
  const provider = findProvider(providerStore(clm.configDir).read(), name);
  const row = rowOf(name, provider, { fleet: hostStore(clm.configDir).read(), secrets: openSecrets(clm.configDir) });
  clm.show(row, () => describeProvider(row));
};
