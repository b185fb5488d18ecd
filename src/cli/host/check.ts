import { type Check, checkHost } from "../../flows/host/check.js";
import { withSession } from "../../flows/session.js";
import { limit } from "../../limit.js";
import { labelsFrom } from "../../names.js";
import { hostStore, selectHosts } from "../../state/hosts.js";
import type { Handler, View } from "../command.js";
import type { check } from "./commands.js";

interface Row extends Check {
  host: string;
}

const view: View<Row> = {
  columns: [
    { title: "host", value: (row) => row.host },
    { title: "check", value: (row) => row.id },
    { title: "result", value: (row) => row.result },
    { title: "reason", value: (row) => row.reason },
    { title: "fix", value: (row) => row.fix },
  ],
  name: (row) => row.host,
  empty: "No hosts yet. Add one with: clm host add NAME --address ADDRESS",
};

export const run: Handler<typeof check> = async ({ args, options }, clm) => {
  const { hosts } = hostStore(clm.configDir).read();
  const everyone = options.all || (args.names.length === 0 && options.label.length === 0);
  const chosen = everyone ? hosts : selectHosts(hosts, args.names, labelsFrom(options.label));
  const rows = await withSession({ ...clm, sudoPasswordFile: options.sudoPasswordFile }, async (session) => {
    const slot = limit(options.parallel);
    const checked = chosen.map((host) =>
      slot(async () => (await checkHost(session, host)).map((found): Row => ({ host: host.name, ...found }))),
    );
    return (await Promise.all(checked)).flat();
  });
  clm.list(rows, view);
  return rows.some((row) => row.result === "fail") ? 1 : 0;
};
