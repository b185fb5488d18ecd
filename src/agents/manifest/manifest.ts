import { z } from "zod";
import { currentId, proofIds } from "./proof-ids.js";
import { isRange, isVersion } from "./versions.js";

/**
 * The schema of an agent type. Questions, flags, rendering, checks and reference pages come from it: adding a provider
 * or a channel takes an entry, not code. Strings marked "template" are Handlebars with the values named beside them;
 * parts with a missing value are not rendered.
 */

const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/, "should be the name of a variable, as DISCORD_BOT_TOKEN");
const word = z.string().regex(/^[a-z][a-z0-9_-]*$/, "should be a word of a-z 0-9 _ -");
const version = z.string().refine(isVersion, "should be a version, as 2026.7.1");
const semver = z.string().regex(/^\d+\.\d+\.\d+$/, "should be a version, as 0.130.0");
const range = z.string().refine(isRange, "should be a range, as '>=2026.5.29 <2026.7.1'").default("*");
const constant = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "should be the name of a constant, as __version__");
const pattern = z.string().refine(isPattern, "should be a regular expression");
const tree = z.record(z.string(), z.unknown()).default({});
const variables = z.record(variable, z.string()).default({});
const portRange = z.strictObject({ first: z.number().int(), last: z.number().int() });

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

/** The only bytes that clm runs on hosts to install. */
const installer = z.strictObject({
  url: z.string().regex(/^(https?|file):\/\//, "should be an http, https or file URL"),
  size: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "should be 64 lowercase hex digits"),
});

const release = z.strictObject({
  /** The version number that the program prints, or `0.15.x` when the last number is not known. */
  reports: z.string(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .optional(),
  /** Without one, the user provides the program. */
  installer: installer.optional(),
  /** A test double of the real release. Every listing says so. */
  standin: z.boolean().default(false),
  /** Addresses the installer needs, instead of those of `requires`. */
  reach: z.array(z.string()).optional(),
});

/** A question. Each has a flag: `--set discord.allowed_users=…`, `--secret discord.token=env:…`. */
const field = z.strictObject({
  name: word,
  ask: z.string(),
  help: z.string().optional(),
  /** Its variable in `.env` (channels and MCP servers; providers use `render`). */
  env: variable.optional(),
  /** Its name in secrets.json, the only place where it is kept. */
  secret: variable.optional(),
  required: z.boolean().default(false),
  /** A comma-separated list. */
  list: z.boolean().default(false),
  /** Yes or no, rendered as `true` or `false`. */
  flag: z.boolean().default(false),
  pattern: pattern.optional(),
  /** The pattern in words: "a user id is 17 to 20 digits". */
  means: z.string().optional(),
  choices: z.array(z.string()).optional(),
  /** A port the agent listens on: no other agent of the host may use it. */
  listens: z.boolean().default(false),
  /** The address that the channel's port is bound to; reachable from other machines unless it is the loopback. */
  binds: z.boolean().default(false),
  /** Files or directories on this machine to copy to the host, as `PATH` or `PATH=NAME`. */
  upload: z.boolean().default(false),
  default: z.string().optional(),
});

/** Part of the rendering. All parts whose range includes the version apply in order; later ones win. Values are templates. */
const rendering = z.strictObject({
  when: range,
  /** Applies only when all of these fields were answered. */
  given: z.array(word).default([]),
  env: variables,
  /** Names no secret: it uses `${NAME}`, with NAME in `env`. */
  config: tree,
});

/** A request that tests a key or an address. Templates: the fields. */
const request = z.strictObject({
  method: z.enum(["GET", "POST"]).default("GET"),
  url: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
  /** Statuses that mean it works. */
  expect: z.array(z.number().int()).default([200]),
  /** A member of the JSON body that must be true, for services that answer 200 to a wrong key (Slack, Telegram). */
  says: z.string().optional(),
});

/** Templates: each field, `model`. */
const provider = z.strictObject({
  title: z.string(),
  help: z.string().optional(),
  /** Other names: `custom` for `ollama`. */
  aliases: z.array(word).default([]),
  when: range,
  fields: z.array(field).default([]),
  /** An example model. */
  model: z.string().optional(),
  render: z.array(rendering).min(1),
  test: request.optional(),
});

/** Templates in env and config: each field that is not secret. */
const channel = z.strictObject({
  title: z.string(),
  help: z.string().optional(),
  when: range,
  fields: z.array(field),
  /** Access lists. One of these fields must be answered, so that access is never open or closed by accident. */
  allow: z.array(word).default([]),
  env: variables,
  config: tree,
  test: request.optional(),
  /** Manual steps, printed after configuring. */
  afterwards: z.string().optional(),
  /** A person pairs it on the host after configuring; not being connected until then is not a failure. */
  pairing: z.boolean().default(false),
});

/** Templates in server: each field; a secret is `${NAME}` and comes from `.env`. */
const mcpServer = z.strictObject({
  title: z.string(),
  help: z.string().optional(),
  when: range,
  fields: z.array(field).default([]),
  server: tree,
});

const memoryFile = z.strictObject({
  /** Template: `data`. */
  path: z.string(),
  /** Code points. */
  limit: z.number().int().positive(),
  /** The agent writes it under flock on `<path>.lock`, and so must clm. */
  lock: z.boolean().default(true),
  summary: z.string(),
});

export const manifestSchema = z.strictObject({
  type: word,
  /** For a custom type: the built-in type whose code it uses. */
  like: word.optional(),
  title: z.string(),
  default: version,
  /** Other defaults for hosts that have a label: `lab: 2026.7.1+standin`. */
  default_by_label: z.record(z.string(), version).default({}),
  versions: z.record(version, release),
  requires: z.strictObject({
    systems: z.array(z.string()),
    arch: z.array(z.string()),
    systemd: z.number().int(),
    memory_mb: z.number().int(),
    disk_mb: z.number().int(),
    /** By program, its Debian package. */
    programs: z.record(z.string(), z.string()),
    reach: z.array(z.string()).default([]),
  }),
  /** Templates: `user`, and the paths above. */
  paths: z.strictObject({
    home: z.string(),
    data: z.string(),
    code: z.string(),
    env: z.string(),
    config: z.string().optional(),
    memories: z.string().optional(),
    launcher: z.string(),
    /** Directories on the service's PATH before the system's. */
    path: z.array(z.string()),
  }),
  install: z
    .strictObject({
      /** Milliseconds. */
      timeout: z.number().int().positive(),
      /** Templates: the paths, `version`, `commit`. All parts whose range includes the version apply in order. */
      arguments: z.array(z.strictObject({ when: range, args: z.array(z.string()) })),
      /** Lines of the installer's output worth showing at the end. */
      warnings: z.array(pattern).default([]),
    })
    .optional(),
  /** How to read the installed version; without it, the version is unknown. */
  version: z
    .strictObject({
      args: z.array(z.string()),
      /** The expected first line. Template: `reports`, `version`. */
      line: z.string(),
      /** The installed file with both as constants, each on its own line: `NAME = "0.13.0"`. Template: the paths. */
      file: z.string(),
      constants: z.strictObject({ reports: constant, version: constant }),
    })
    .optional(),
  /** Questions about the agent itself, asked in the stage `identity`. Flags: `--set FIELD=…`, `--secret FIELD=…`. */
  settings: z.array(field).default([]),
  /** Left out of a backup of the data directory, and of the rest of the home: names, or paths that begin with `/`. */
  backup: z
    .strictObject({
      without: z.array(z.string()),
      home_without: z.array(z.string()),
      /** The list of bundled skills, with a digest of each. Template: the paths. */
      bundled: z.string().default(""),
    })
    .default({ without: [".env"], home_without: [".env"], bundled: "" }),
  /** Log files beside the journal, by name; an entry in several files is shown from the first. Template: the paths. */
  logs: z
    .record(
      word,
      z.strictObject({
        path: z.string(),
        /** Its lines have no time, and each is one entry. */
        loose: z.boolean().default(false),
      }),
    )
    .default({}),
  unit: z.strictObject({
    /** Template: `name`. */
    name: z.string(),
    /** Arguments of the launcher. */
    args: z.array(z.string()),
    /** Variables of its processes beside HOME, USER and PATH. Templates: the paths. */
    environment: z.record(variable, z.string()).default({}),
    /** Lines of the unit's [Service] section: how it is stopped and restarted. */
    service: z.string().default("Restart=on-failure\nRestartSec=5"),
  }),
  api: z.strictObject({
    port: portRange.extend({ avoid: z.array(z.number().int()).default([]) }),
    /** The protocol on the port: `http`, `tcp` or `none`. Template: the settings. */
    check: z.string().default("http"),
    /** The bearer key's name in secrets.json. clm generates the key: 64 lowercase hex digits. Without it the API has no key. */
    secret: variable.optional(),
    /** Answers 200 when the agent is healthy. Template: the settings. */
    health: z.string(),
    /** Answers 200 with the key, and 401 without it. */
    models: z.string().optional(),
    chat: z
      .strictObject({
        path: z.string(),
        model: z.string(),
        /** Prefixes of answers that report a failure; `{n}` is a number, `{status}` an HTTP status. */
        failures: z.array(z.string()).default([]),
        /** Prefixes that count only when the answer reports zero tokens: a model's own text may begin like this. */
        failures_without_usage: z.array(z.string()).default([]),
        /** Characters of a message that the agent reads; it silently drops the rest. */
        max_length: z.number().int().positive().optional(),
      })
      .optional(),
    /** Milliseconds until it must listen; each MCP server adds `per_server`. Channels then have `channels` to connect. */
    timeout: z.strictObject({
      start: z.number().int(),
      per_server: z.number().int(),
      channels: z.number().int().default(30_000),
    }),
  }),
  /** Versions that can move a session to one of their channels. */
  handoff: z.strictObject({ channels: range }).optional(),
  /** A web interface on the loopback, served while it is open. */
  dashboard: z
    .strictObject({
      when: range,
      /** Arguments of the launcher. It must bind only the loopback. Template: `port`. */
      args: z.array(z.string()),
      /** The first page; 200 means that it is up. */
      page: z.string().startsWith("/"),
      ports: portRange,
      /** Milliseconds until it must answer. */
      timeout: z.number().int().positive(),
    })
    .optional(),
  /** A server beside the agent that lends a subscription login. It requires no key. */
  proxy: z
    .strictObject({
      when: range,
      /** Template: `name`. */
      unit: z.string(),
      /** Arguments of the launcher. It must bind only the loopback. Templates: `provider`, `port`. */
      args: z.array(z.string()),
      ports: portRange,
      /** Answers with JSON: `upstream`, and `authenticated` when it has a login to lend. */
      health: z.string().startsWith("/"),
      /** The largest request body, in bytes. */
      max_body_bytes: z.number().int().positive(),
      /** Milliseconds until it must answer. */
      timeout: z.number().int().positive(),
      /** Exit codes after which a restart does not help. */
      no_restart_on: z.array(z.number().int()).default([]),
      /** The command that reports logins: `line` has the groups `provider` and `state`. */
      status: z.strictObject({ args: z.array(z.string()), line: pattern, ready: pattern }),
      providers: z.record(
        word,
        z.strictObject({
          title: z.string(),
          when: range,
          /** Allowed paths below /v1. */
          paths: z.array(z.string().startsWith("/")),
          /** The login command, for a shell of the agent. */
          login: z.string(),
        }),
      ),
    })
    .optional(),
  /** Other programs that can run the agent's turns, each with its own settings and login. */
  runtimes: z
    .record(
      word,
      z.strictObject({
        title: z.string(),
        when: range,
        /** The required model.provider. */
        provider: word,
        /** The setting below `model` that selects it, and its value. */
        key: word,
        setting: word.optional(),
        /** Its name on the service's PATH. */
        program: word,
        /** Versions of the program: the agent's minimum, the recommended one, and the one clm installs. */
        min_version: semver,
        recommended: semver,
        default: semver,
        /** Where its settings are: shared by the user's programs, or for this agent only. Templates: the paths. */
        homes: z.strictObject({ shared: z.string(), own: z.string() }),
        /** Where clm installs it. Template: the paths. */
        directory: z.string(),
        /** Its link on the service's PATH. Template: the paths. */
        launcher: z.string(),
        /** Arguments of the program, and of the launcher, that log in. */
        login: z.array(z.string()),
        agent_login: z.array(z.string()),
        /** Where the agent stores its logins. Template: the paths. */
        logins: z.string(),
        /** The agent as an MCP server of the program, in the program's format. Templates: the paths. */
        callback: z.strictObject({
          command: z.string(),
          args: z.array(z.string()),
          env: z.record(z.string(), z.string()),
          env_vars: z.array(variable).default([]),
          startup_timeout_sec: z.number().positive(),
          tool_timeout_sec: z.number().positive(),
        }),
        /** Features an agent loses while it runs on it. */
        loses: z.array(z.string()),
        /** Files the model does not get; clm can supply them in the program's settings. */
        withheld: z.string(),
        /** The npm package; `versions` pins it by version and architecture. */
        package: z.string(),
        /** Sandbox directives to replace, by directive. */
        sandbox: z.strictObject({ why: z.string(), instead: z.record(z.string(), z.array(z.string())) }),
        versions: z.record(
          semver,
          z.record(
            z.string(),
            z.strictObject({
              version: z.string(),
              integrity: z
                .string()
                .regex(/^sha512-[A-Za-z0-9+/]{86}==$/, "should be sha512- and 88 characters of base64"),
              /** The program's path in the package. */
              program: z.string(),
            }),
          ),
        ),
      }),
    )
    .default({}),
  /** Always rendered. Templates: `port`, `api_key`, `provider` (the rendered model.provider). */
  render: z.array(rendering).default([]),
  /** Dotted paths of config.yaml only clm writes: keys not rendered are removed. `*` becomes each task on loading. */
  managed: z.array(z.string()).default([]),
  /** Variables that only clm may set, beside those of `render`: patterns of the whole name. */
  reserved: z.array(pattern).default([]),
  /** Variables (whole-name patterns) that the agent hides from its commands, but not from MCP servers naming them. */
  stripped: z.array(pattern).default([]),
  /** Tasks that may have their own model. */
  auxiliary: z.array(z.strictObject({ name: word, when: range })).default([]),
  providers: z.record(word, provider).default({}),
  channels: z.record(word, channel).default({}),
  mcp: z.record(word, mcpServer).default({}),
  /** Log lines on MCP servers: failed (groups `name`, `why`), connected (`name`). Without it, the state is unknown. */
  mcp_log: z.strictObject({ contains: z.string().min(1), lost: pattern, connected: pattern }).optional(),
  memory: z.record(z.string(), memoryFile).default({}),
  /** Patterns of memory that the agent hides from its model; clm warns when it writes such text. */
  memory_hidden: z.array(z.strictObject({ when: range, pattern, means: z.string() })).default([]),
  stages: z.array(
    z.strictObject({ name: z.enum(["providers", "identity", "channels", "validate"]), skipped: z.string().optional() }),
  ),
  /** Known log lines and their causes. Template in `next`: `name`, `host`, `port`. */
  causes: z
    .array(
      z.strictObject({
        /** Stable: part of the check id `log.<id>`. */
        id: z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, "should be words of a-z and 0-9 with - between them"),
        pattern,
        reason: z.string(),
        next: z.string().optional(),
        /** The proofs whose failure it explains; all by default. */
        proofs: z.array(z.string().transform(currentId).pipe(z.enum(proofIds))).optional(),
        /** Doctor checks that test the same now; the proofs by default. Empty: the log line is the only evidence. */
        checks: z.array(z.string().transform(currentId)).optional(),
        /** It is temporary or not essential: never more than a warning. */
        mild: z.boolean().default(false),
        /** Waiting does not help. */
        final: z.boolean().default(false),
      }),
    )
    .default([]),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type Release = z.infer<typeof release>;
export type Field = z.infer<typeof field>;
export type ServiceRequest = z.infer<typeof request>;
export type ProviderType = z.infer<typeof provider>;
export type ChannelType = z.infer<typeof channel>;
export type McpType = z.infer<typeof mcpServer>;
export type LogCause = Manifest["causes"][number];
export type StageName = Manifest["stages"][number]["name"];
