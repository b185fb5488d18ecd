import { command, type Noun } from "../command.js";

export const init = command({
  path: "init",
  summary: "make the config directory and a key to log in with",
  description: `Makes the config directory (only you can read it) and an SSH key for clm, and shows the public key to put on your hosts.
What exists already is left as it is. Other commands make the directory when they need it; init is a place to start.`,
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [{ run: "clm init" }, { run: "clm init --config-dir ./fleet" }],
  load: () => import("./init.js"),
});

export const initNoun: Noun = { name: "init", summary: init.summary, commands: [init] };
