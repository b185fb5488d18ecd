import { hostStore } from "../../state/hosts.js";
import { providerStore } from "../../state/providers.js";
import { openSecrets } from "../../state/secrets.js";
import type { Handler } from "../command.js";
import type { list } from "./commands.js";
import { providerView, rowsOf } from "./view.js";

export const run: Handler<typeof list> = async (_input, { configDir, list: print }) => {
  const sources = { fleet: hostStore(configDir).read(), secrets: openSecrets(configDir) };
  print(rowsOf(providerStore(configDir).read(), sources), providerView);
};
