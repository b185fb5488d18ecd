import { byName } from "../../names.js";
import { agentsOf, findAgent } from "../../state/agents.js";
import { findHost, hostStore } from "../../state/hosts.js";
import { providerStore } from "../../state/providers.js";
import { agentData, agentView, describeAgent, nextCommand } from "../agent-view.js";
import type { Handler } from "../command.js";
import type * as declared from "./commands.js";

export const list: Handler<typeof declared.list> = async ({ options }, clm) => {
  const fleet = hostStore(clm.configDir).read();
  const only = options.host === undefined ? undefined : findHost(fleet.hosts, options.host);
  const agents = agentsOf({ ...fleet, hosts: fleet.hosts.toSorted(byName) }).sort(byName);
  clm.list(only ? agents.filter(({ host }) => host.name === only.name) : agents, agentView(clm));
};

export const show: Handler<typeof declared.show> = async ({ args }, clm) => {
  const known = providerStore(clm.configDir).read();
  const agent = findAgent(hostStore(clm.configDir).read(), args.name);
  const next = nextCommand(agent);
  clm.show({ ...agentData(agent, known), next }, () => describeAgent(agent, known, next));
};
