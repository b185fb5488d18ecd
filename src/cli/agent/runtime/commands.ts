import { Fault } from "../../../errors.js";
import { choice, command, flag, type Input, list, type Noun, text } from "../../command.js";
import { changeAgents, changeAgentsOptions, manyAgents } from "../../shared-options.js";

const batchOptions = { ...changeAgentsOptions, continue: flag("continue with the others after a failure") };

const order = "With several agents, one goes first, then the others; the first failure stops those not begun yet.";
const home = choice("WHERE", ["shared", "own"], "Codex' settings: ~/.codex of its user, or a directory for this agent");

export const enable = command({
  path: "agent runtime codex",
  summary: "run an agent's turns on Codex",
  description: `The Codex CLI on the agent's host runs its turns, in Codex' own sandbox, with the agent's MCP servers
and tools. First clm checks the versions, the provider, both logins and the sandbox in the unit the agent will have.
Then it writes Codex' config.toml, which Codex must accept and start every MCP server of; then it restarts the agent,
which must answer. A failure is rolled back. Your own part of config.toml is kept byte for byte, and secrets of .env
are not written to it. Options that are not given keep their last value.

${order}`,
  ...changeAgents,
  options: {
    codexVersion: text("VERSION", "the Codex version for --install-codex (default: the recommended one)", {
      completes: "runtime-version",
    }),
    installCodex: flag("install Codex for the agent's user, checked by its pinned digest; the host needs no registry"),
    codexFile: text("FILE", "take Codex from this package instead of fetching it with npm", { completes: "file" }),
    codexHome: home,
    permissions: text("PROFILE", "read-only, workspace (the default), full-access, or a profile of your own"),
    mirror: flag("write SOUL.md, MEMORY.md and USER.md to Codex' AGENTS.md, and keep that current"),
    noMirror: flag("do not write them there"),
    auxiliary: list("TASK=PROVIDER[/MODEL]", "another model for a task that would use the subscription (repeatable)", {
      completes: "auxiliary-task",
    }),
    skipChat: flag("prove everything except a model's answer"),
    ...batchOptions,
  },
  examples: [
    "clm agent runtime codex hermes-test --install-codex --dry-run   # only show what would change",
    "clm agent runtime codex hermes-test --permissions read-only --mirror",
    "clm agent runtime codex 'web-*' --parallel 4",
  ],
  load: () => import("./enable.js"),
});

/** Converts the flags of `agent runtime codex` to the options that every runtime has. */
export function enableOptions(options: Input<Record<never, never>, NonNullable<typeof enable.options>>["options"]) {
  const { codexVersion: version, codexFile: file, codexHome: home, mirror, noMirror, installCodex } = options;
  const { permissions, auxiliary, skipChat } = options;
  if (mirror && noMirror) throw new Fault("usage", "--mirror and --no-mirror contradict each other");
  if (!installCodex && (version ?? file) !== undefined) {
    throw new Fault("usage", `${file ? "--codex-file" : "--codex-version"} goes with --install-codex`);
  }
  return {
    name: "codex",
    home,
    permissions,
    auxiliary,
    skipChat,
    mirror: mirror ? true : noMirror ? false : undefined,
    install: installCodex ? { version, file } : undefined,
  };
}

export const auto = command({
  path: "agent runtime auto",
  summary: "run an agent's turns by the agent itself",
  description: `Codex' files stay as they are, unless --clean removes what clm wrote there. ${order}`,
  ...changeAgents,
  options: {
    clean: flag("also remove what clm wrote to Codex' files"),
    skipChat: flag("prove everything except a model's answer"),
    ...batchOptions,
  },
  examples: ["clm agent runtime auto hermes-test --clean"],
  load: () => import("./auto.js"),
});

export const login = command({
  path: "agent runtime login",
  summary: "log an agent and its Codex in",
  description: "Shows the addresses at which to log in, one agent at a time.",
  ...changeAgents,
  options: {
    withApiKey: flag("log Codex in with the API key on stdin"),
    codexHome: home,
    ...batchOptions,
  },
  examples: ["clm agent runtime login hermes-test"],
  load: () => import("./login.js"),
});

export const loginHome = ({ codexHome }: { codexHome: "shared" | "own" | undefined }) => codexHome;

export const status = command({
  path: "agent runtime status",
  summary: "show what runs an agent's turns, and whether Codex could",
  description: "Ends with 1 when an agent that should run on Codex cannot.",
  ...manyAgents,
  options: batchOptions,
  examples: ["clm agent runtime status hermes-test"],
  load: () => import("./status.js"),
});

export const runtime: Noun = {
  name: "agent runtime",
  summary: "choose what runs an agent's turns",
  commands: [enable, auto, status, login],
  verbLast: {
    verbs: {
      codex: "codex",
      on: "codex",
      enable: "codex",
      codex_app_server: "codex",
      auto: "auto",
      off: "auto",
      disable: "auto",
      login: "login",
      status: "status",
    },
    otherwise: "status",
  },
};
