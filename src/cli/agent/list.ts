import { byName } from "../../names.js";
import { agentsOf } from "../../state/agents.js";
import { findHost, hostStore } from "../../state/hosts.js";
import { agentView } from "../agent-view.js";
import type { Handler } from "../command.js";
import type { list } from "./commands.js";

export const run: Handler<typeof list> = async ({ options }, clm) => {
  const fleet = hostStore(clm.configDir).read();
  const only = options.host === undefined ? undefined : findHost(fleet.hosts, options.host);
  const agents = agentsOf({ ...fleet, hosts: fleet.hosts.toSorted(byName) }).sort(byName);
  clm.list(only ? agents.filter(({ host }) => host.name === only.name) : agents, agentView(clm));
};
