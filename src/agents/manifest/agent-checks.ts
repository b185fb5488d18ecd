/** Beside these: `channel.<name>`, `mcp.<name>`, and `log.<cause>` for each cause of the manifest. */
export const agentChecks = {
  host: "its host answers",
  onboarding: "it is installed and onboarded",
  version: "the pinned version is installed",
  files: "its private files belong to it and are closed to others",
  unit: "its unit is up, or down as intended",
  steady: "it stays up",
  strays: "no process of its user runs outside its units",
  restarts: "it was not restarted often",
  memory: "it was not killed for using too much memory",
  port: "only its own process listens on its port, on the loopback only",
  listeners: "no other port of its processes is reachable from other machines, unless configured",
  health: "its health check passes",
  "auth.no-key": "its API refuses requests without a key",
  "auth.wrong-key": "its API refuses a wrong key",
  "auth.own-key": "its API accepts its own key",
  chat: "its model answered the last time it was asked",
  drift: "it has no configuration drift",
  secrets: "the keys and tokens it needs are in secrets.json",
  provider: "its providers exist",
  "provider.reach": "its host can reach its provider",
  runtime: "the other program that runs its turns, if any, is installed and selected",
  disk: "its disk has free space",
  clock: "its host's clock agrees with ours",
  errors: "it logged no error since it started",
  log: "its log shows no known problem since it started",
} as const;

/** Whether a cause of a manifest may name this check. */
export const isAgentCheck = (id: string, channels: readonly string[]): boolean =>
  Object.hasOwn(agentChecks, id) || channels.some((name) => id === `channel.${name}`);
