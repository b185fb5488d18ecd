import { command } from "../command.js";

export const init = command({
  path: "init",
  summary: "create the config directory and an SSH key",
  description: `Creates the config directory, readable only by you, and an SSH key for clm, and prints the public key
to put on your hosts. What already exists is left unchanged. Running it is optional: other commands create the
directory when they need it.`,
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: ["clm init", "clm init --config-dir ./fleet"],
  load: () => import("./init.js"),
});
