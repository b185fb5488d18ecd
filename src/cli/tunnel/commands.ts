import { command, port } from "../command.js";
import { agentName, sudoOption } from "../shared-options.js";

export const tunnel = command({
  path: "tunnel",
  summary: "forward an agent's API to this machine",
  description: `Forwards a port on 127.0.0.1 here to the agent's port on its host through the SSH connection, until
Ctrl-C. No port is opened on the host or to the network. The port opens once the agent's own process holds its port;
when the connection is lost, clm reconnects and checks again, with growing delays.

Prints the address and a curl command that works as printed: it reads the key with 'clm agent key', so the key is
never shown. Everyone with an account on this machine can connect to the port, and needs the key to use it. With -o
json one line is printed for each of open, lost, waiting, back and closed.`,
  args: { name: agentName },
  options: {
    port: port("port on this machine (default: the agent's own, or any free port)"),
    ...sudoOption,
  },
  formats: ["table", "json"],
  examples: [
    "clm tunnel hermes-test",
    "clm tunnel wolf-i/hermes-test --port 9000",
    "clm tunnel hermes-test -o json | jq -r .event   # events as they happen",
  ],
  load: () => import("./tunnel.js"),
});
