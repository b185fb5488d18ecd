import { command, oneOf, text } from "../../command.js";
import { agentName, sudoOption } from "../../shared-options.js";

export const proxy = command({
  path: "agent proxy",
  summary: "lend an agent's login at a subscription to the gateway",
  description: `'enable' runs 'hermes proxy' on the agent's host: a unit of its own, as closed in as the agent's, on a port of its own on the
loopback. It passes requests on to the provider and puts the agent's login in place of whatever key they carry. First it is checked
that the version has it (2026.5.16 and later; xai from 2026.5.29 on) and that the agent is logged in; if not, it says how to log in.
Then it is proven that the unit's own process holds the port and says that it has a login. The same command again changes nothing;
with another provider the unit is changed. 'disable' takes the unit away, and the agent stays logged in. 'status' tells what the host
says now, and ends with a fault when the proxy does not serve although it should.

It goes on while the agent is stopped, and goes with 'clm agent remove'. People and programs reach it through 'clm gateway serve' as
NAME/proxy/MODEL, with keys, limits and a log. By itself it has none of these: every user of the agent's host can use that port.`,
  args: { name: agentName, what: oneOf(["enable", "disable", "status"], "what to do with it") },
  options: {
    provider: text("PROVIDER", "whose login to lend: nous or xai (default: the one it lends already)"),
    ...sudoOption,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm agent proxy hermes-test enable --provider nous" },
    { run: "clm agent proxy hermes-test status -o json" },
    { run: "clm agent proxy hermes-test disable" },
  ],
  load: () => import("./proxy.js"),
});
