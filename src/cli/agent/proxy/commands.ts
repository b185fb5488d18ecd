import { command, type Noun, text } from "../../command.js";
import { changeAgents, changeAgentsOptions, manyAgents } from "../../shared-options.js";

export const enable = command({
  path: "agent proxy enable",
  summary: "lend an agent's login at a subscription to the gateway",
  description: `Runs 'hermes proxy' on the agent's host: a unit of its own, in the same sandbox as the agent, on a
loopback port of its own. It passes requests on to the provider and replaces whatever key they carry with the agent's
login.

First clm checks that the version has a proxy (2026.5.16 and later; xai from 2026.5.29 on) and that the agent is
logged in; if not, it says how to log in. Then it proves that the unit's own process holds the port and reports a
login. Running the command again changes nothing; with another provider the unit is changed.

The proxy keeps running while the agent is stopped, and is removed by 'clm agent remove'. People and programs reach it
through 'clm gateway serve' as NAME/proxy/MODEL, with keys, limits and a log. By itself it has none of these: every
user of the agent's host can use that port.`,
  ...changeAgents,
  options: {
    provider: text("PROVIDER", "whose login to lend: nous or xai (default: the one it lends already)"),
    ...changeAgentsOptions,
  },
  examples: ["clm agent proxy enable hermes-test --provider nous"],
  load: () => import("./proxy.js"),
});

export const disable = command({
  path: "agent proxy disable",
  summary: "stop lending an agent's login",
  description: "Removes the proxy's unit. The agent stays logged in.",
  ...changeAgents,
  options: changeAgentsOptions,
  examples: ["clm agent proxy disable hermes-test"],
  load: () => import("./proxy.js"),
});

export const status = command({
  path: "agent proxy status",
  summary: "show the live status of an agent's proxy",
  description: "Fails when the proxy is enabled but does not serve.",
  ...manyAgents,
  options: changeAgentsOptions,
  examples: ["clm agent proxy status hermes-test -o json"],
  load: () => import("./proxy.js"),
});

export const proxy: Noun = {
  name: "agent proxy",
  summary: "lend an agent's login at a subscription",
  commands: [enable, disable, status],
  verbLast: { verbs: { enable: "enable", disable: "disable", status: "status" } },
};
