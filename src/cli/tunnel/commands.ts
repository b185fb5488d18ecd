import { command, type Noun, number } from "../command.js";
import { agentName, sudo } from "../recurring.js";

export const tunnel = command({
  path: "tunnel",
  summary: "reach an agent's API from this machine",
  description: `Opens a port on 127.0.0.1 here that leads through the SSH connection to the agent's port on its host, until Ctrl-C. Nothing is
opened on the host or to the outside. It is open when the agent was seen to hold its port; when the connection is lost it is made
anew, and looked at anew, with growing pauses.

Prints the address and a line for curl that works as it stands: the key comes from 'clm agent key' and shows nowhere. Whoever has an
account on this machine can connect to the port, and needs the key like everybody. With -o json one line is printed for each of
open, lost, waiting, back and closed.`,
  args: { name: agentName },
  options: {
    port: number("PORT", "port here (default: the agent's own, or any that is free)", { min: 1, max: 65535 }),
    ...sudo,
  },
  formats: ["table", "json"],
  examples: [
    { run: "clm tunnel hermes-test" },
    { run: "clm tunnel wolf-i/hermes-test --port 9000" },
    { run: "clm tunnel hermes-test -o json | jq -r .event", note: "what becomes of it, as it happens" },
  ],
  load: () => import("./tunnel.js"),
});

export const tunnelNoun: Noun = { name: "tunnel", summary: tunnel.summary, commands: [tunnel] };
