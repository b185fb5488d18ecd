import { choice, command, flag, list, text } from "../../command.js";
import { agentFilters, agentNames, batchOptions, sudoOption } from "../../shared-options.js";

export const runtime = command({
  path: "agent runtime",
  summary: "hand an agent's turns to Codex, or take them back",
  description: `After the agents comes what to do. 'codex' (or 'on', 'codex_app_server') lets the Codex CLI on the agent's host run its turns, in
Codex' own sandbox, with the agent's MCP servers and tools. Everything is checked first: the versions, the provider, both logins, the
sandbox in the unit the agent will have. Then Codex gets its config.toml, and must accept it and start every MCP server in it; then
the agent is restarted and must answer. What fails is put back as it was. Your own part of config.toml is kept byte for byte, and
secrets of .env are not written to it. What no flag says is as it was when it last ran on Codex.

'auto' (or 'off') gives the turns back to the agent; what Codex was given stays, unless --clean takes it away. 'login' logs Codex and
the agent in: go to the address it shows. Without a word, it tells how things are on the host, and ends with 1 when an agent that
should run on Codex cannot. Of several agents one goes first, then the others; the first that fails stops those not begun yet.`,
  args: {
    names: {
      ...agentNames,
      summary: `${agentNames.summary}; then codex, auto or login`,
      last: ["codex", "auto", "login"],
    },
  },
  options: {
    codexVersion: text("VERSION", "which Codex --install-codex brings (default: the one clm knows best)", {
      completes: "codex-version",
    }),
    installCodex: flag("bring Codex to the agent's user, checked by its pinned digest; the host needs no registry"),
    codexFile: text("FILE", "take Codex from this package instead of fetching it with npm", { completes: "file" }),
    codexHome: choice(
      "WHERE",
      ["shared", "own"],
      "Codex' settings: ~/.codex of its user, or a place for this agent alone",
    ),
    permissions: text("PROFILE", "read-only, workspace (the default), full-access, or a profile of your own"),
    mirror: flag("write SOUL.md, MEMORY.md and USER.md to Codex' AGENTS.md, and keep that current"),
    noMirror: flag("tell Codex nothing of them"),
    auxiliary: list("TASK=PROVIDER[/MODEL]", "another model for a task that would use the subscription (repeatable)", {
      completes: "auxiliary-task",
    }),
    skipChat: flag("prove all but a model's answer"),
    clean: flag("with auto: also take what clm wrote out of Codex' files"),
    withApiKey: flag("with login: Codex gets the API key that is read from stdin"),
    ...agentFilters,
    ...batchOptions,
    continue: flag("go on with the others whatever fails"),
    ...sudoOption,
  },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm agent runtime hermes-test", note: "how it is" },
    { run: "clm agent runtime hermes-test codex --install-codex --dry-run", note: "only tell what would change" },
    { run: "clm agent runtime hermes-test login" },
    { run: "clm agent runtime hermes-test codex --permissions read-only --mirror" },
    { run: "clm agent runtime 'web-*' codex --parallel 4" },
    { run: "clm agent runtime hermes-test auto --clean" },
  ],
  load: () => import("./runtime.js"),
});
