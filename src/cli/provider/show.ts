import { hostStore } from "../../state/hosts.js";
import { findProvider, providerStore } from "../../state/providers.js";
import { openSecrets } from "../../state/secrets.js";
import type { Context, Handler } from "../command.js";
import type * as declared from "./commands.js";
import { describeProvider, providerView, rowOf, rowsOf, type Sources } from "./view.js";

export const list: Handler<typeof declared.list> = async (_input, clm) =>
  clm.list(rowsOf(providerStore(clm.configDir).read(), sourcesIn(clm)), providerView);

export const show: Handler<typeof declared.show> = async ({ args: { name } }, clm) => {
  const provider = findProvider(providerStore(clm.configDir).read(), name);
  const row = rowOf(name, provider, sourcesIn(clm));
  clm.show(row, () => describeProvider(row));
};

const sourcesIn = ({ configDir }: Context): Sources => ({
  fleet: hostStore(configDir).read(),
  secrets: openSecrets(configDir),
});
