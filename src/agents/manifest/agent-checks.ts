/**
 * The checks of an agent, beside `channel.<name>` for each channel, `mcp.<name>` for each MCP server and `log.<cause>` for
 * each cause of its manifest.
 */
export const agentChecks = {
  host: "its host can be asked",
  onboarding: "it is installed and onboarded",
  version: "what runs is the version that was pinned",
  files: "what is the agent's alone belongs to it and is closed to others",
  unit: "its unit is up, or down as it should be",
  steady: "it stays up",
  strays: "no process of its user runs outside its units",
  restarts: "it did not have to be restarted often",
  memory: "it was not ended for taking too much memory",
  port: "its port is held by its own process, on the loopback alone",
  listeners: "no other port of its processes can be reached from other machines, unless that was asked for",
  health: "it says that it is well",
  "auth.no-key": "nobody gets in without a key",
  "auth.wrong-key": "nobody gets in with a wrong key",
  "auth.own-key": "it answers its own key",
  chat: "its model answered when it was last asked",
  drift: "it is as it was configured",
  secrets: "the keys and tokens it needs are in secrets.json",
  provider: "its providers are known",
  "provider.reach": "its provider can be reached from its host",
  runtime: "the program that runs its turns, when another one does, is there and selected",
  disk: "there is room where it lives",
  clock: "its host's clock agrees with ours",
  errors: "it noted no error since it was started",
  log: "nothing that is known to go wrong stands in its log since it was started",
} as const;

/** Tells whether a name is one of an agent's checks that a cause can point to. */
export const isAgentCheck = (id: string, channels: readonly string[]): boolean =>
  Object.hasOwn(agentChecks, id) || channels.some((name) => id === `channel.${name}`);
