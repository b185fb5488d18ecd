import { z } from "zod";
import { currentId, proofIds } from "./proof-ids.js";
import { isRange, isVersion } from "./versions.js";

/**
 * What an agent type is, as data: versions, requirements, places, providers, channels, memory, proofs. Questions, flags,
 * rendering, checks and reference pages are all read from it; adding a provider or a channel is an entry, not code.
 *
 * Texts marked "template" are Handlebars with the values named beside them. A part that names a value nobody gave is
 * left out of the rendering.
 */

const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/, "should be a variable's name, as DISCORD_BOT_TOKEN");
const word = z.string().regex(/^[a-z][a-z0-9_-]*$/, "should be a word of a-z 0-9 _ -");
const version = z.string().refine(isVersion, "should be a version, as 2026.7.1");
const semver = z.string().regex(/^\d+\.\d+\.\d+$/, "should be a version, as 0.130.0");
const range = z.string().refine(isRange, "should be a range, as '>=2026.5.29 <2026.7.1'").default("*");
const constant = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "should be a constant's name, as __version__");
const pattern = z.string().refine(isPattern, "should be a regular expression");
const tree = z.record(z.string(), z.unknown()).default({});
const variables = z.record(variable, z.string()).default({});

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

/** The bytes that are run on hosts, and nothing else is. */
const installer = z.strictObject({
  url: z.string().regex(/^(https?|file):\/\//, "should be an http, https or file URL"),
  size: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "should be 64 lowercase hex digits"),
});

const release = z.strictObject({
  /** The version number that the program prints, or `0.15.x` when its last part is not known. */
  reports: z.string(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .optional(),
  /** Without one nothing is installed: the user brings the program. */
  installer: installer.optional(),
  /** Only behaves like the real one. Every listing says so. */
  standin: z.boolean().default(false),
  /** Addresses the installer needs; without it, those of `requires`. */
  reach: z.array(z.string()).optional(),
});

/** One thing to ask. Every question has a flag: `--set discord.allowed_users=…`, `--secret discord.token=env:…`. */
const field = z.strictObject({
  name: word,
  ask: z.string(),
  help: z.string().optional(),
  /** The variable of `.env` it becomes (channels and MCP servers; providers say it in `render`). */
  env: variable.optional(),
  /** Kept in secrets.json under this name, and nowhere else. */
  secret: variable.optional(),
  required: z.boolean().default(false),
  /** Several values, written with commas. */
  list: z.boolean().default(false),
  /** Yes or no, rendered as `true` or `false`. */
  flag: z.boolean().default(false),
  pattern: pattern.optional(),
  /** The pattern in words: "a user id is 17 to 20 digits". */
  means: z.string().optional(),
  choices: z.array(z.string()).optional(),
  /** A port the agent listens on: nobody else on the host may have it. */
  listens: z.boolean().default(false),
  /** The address that the channel's port is bound to; other machines reach it unless that is the loopback. */
  binds: z.boolean().default(false),
  /** Files or directories on this machine, as `PATH` or `PATH=NAME`: their content goes to the host. */
  upload: z.boolean().default(false),
  default: z.string().optional(),
});

/** Part of the rendering. All parts whose range has the version apply, in order; later ones win. Template values. */
const rendering = z.strictObject({
  when: range,
  /** Only when all of these fields were answered. */
  given: z.array(word).default([]),
  env: variables,
  /** No secret is named here: `${NAME}` is, and NAME is in `env`. */
  config: tree,
});

/** A question to a service whose answer tells whether a key or an address is right. Templates: the fields. */
const request = z.strictObject({
  method: z.enum(["GET", "POST"]).default("GET"),
  url: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
  /** Statuses that mean it works. */
  expect: z.array(z.number().int()).default([200]),
  /** The service answers 200 and says in its JSON body whether it works: this member must be true (Slack, Telegram). */
  says: z.string().optional(),
});

/** Templates: each field, `model`. */
const provider = z.strictObject({
  title: z.string(),
  help: z.string().optional(),
  /** Other names a user may say: `custom` for `ollama`. */
  aliases: z.array(word).default([]),
  /** Versions that have it. */
  when: range,
  fields: z.array(field).default([]),
  /** An example of a model's name. */
  model: z.string().optional(),
  render: z.array(rendering).min(1),
  test: request.optional(),
});

/** Templates in env and config: each field that is no secret. */
const channel = z.strictObject({
  title: z.string(),
  help: z.string().optional(),
  when: range,
  fields: z.array(field),
  /** Who may talk to the agent: one of these fields must be answered, so that nobody is let in, or out, by accident. */
  allow: z.array(word).default([]),
  env: variables,
  config: tree,
  test: request.optional(),
  /** What is left for a person to do, told after configuring. */
  afterwards: z.string().optional(),
  /** A person pairs it on the host after configuring: until then it is not connected, and that is no failure. */
  pairing: z.boolean().default(false),
});

/** Templates in server: each field; a secret is written `${NAME}` there and comes from `.env`. */
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
  /** The agent writes it under flock on `<path>.lock`, and so must we. */
  lock: z.boolean().default(true),
  summary: z.string(),
});

export const manifestSchema = z.strictObject({
  type: word,
  /** Of a type of the user's own: the built-in type whose code it uses. */
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
    /** Programs, and the Debian package that brings each. */
    programs: z.record(z.string(), z.string()),
    reach: z.array(z.string()).default([]),
  }),
  /** Templates: `user`, and the places above. */
  paths: z.strictObject({
    home: z.string(),
    data: z.string(),
    code: z.string(),
    env: z.string(),
    config: z.string().optional(),
    memories: z.string().optional(),
    launcher: z.string(),
    /** Directories on the service's PATH, before the system's. */
    path: z.array(z.string()),
  }),
  /** How the installer is run. */
  install: z
    .strictObject({
      /** Milliseconds. */
      timeout: z.number().int().positive(),
      /** Templates: the paths, `version`, `commit`. All parts whose range has the version apply, in order. */
      arguments: z.array(z.strictObject({ when: range, args: z.array(z.string()) })),
      /** Lines of the installer's output worth showing at the end. */
      warnings: z.array(pattern).default([]),
    })
    .optional(),
  /** How the installed version is read; without it, nothing tells which one it is. */
  version: z
    .strictObject({
      args: z.array(z.string()),
      /** Template: `reports`, `version`. The first line must be this. */
      line: z.string(),
      /** The file of the installed release with both as constants, as `NAME = "0.13.0"` on a line of their own. Template: the paths. */
      file: z.string(),
      constants: z.strictObject({ reports: constant, version: constant }),
    })
    .optional(),
  /** Questions about the agent itself, asked in the stage `identity`. Flags: `--set FIELD=…`, `--secret FIELD=…`. */
  settings: z.array(field).default([]),
  /** What a backup leaves out of the data directory, and of the rest of the home: patterns of names, or of paths with a `/` before them. */
  backup: z
    .strictObject({
      without: z.array(z.string()),
      home_without: z.array(z.string()),
      /** The list of skills that came with the agent, with a digest of each. Template: the places. */
      bundled: z.string().default(""),
    })
    .default({ without: [".env"], home_without: [".env"], bundled: "" }),
  /** Log files beside the journal, by name; an entry that is in several is shown from the first. Template: the places. */
  logs: z
    .record(
      word,
      z.strictObject({
        path: z.string(),
        /** Its lines have no time, and each is an entry of its own. */
        loose: z.boolean().default(false),
      }),
    )
    .default({}),
  unit: z.strictObject({
    /** Template: `name`. */
    name: z.string(),
    /** What the service runs, after the launcher. */
    args: z.array(z.string()),
    /** Variables of its processes beside HOME, USER and PATH. Templates: the paths. */
    environment: z.record(variable, z.string()).default({}),
    /** Lines of the unit's [Service] section: how it is stopped and restarted. */
    service: z.string().default("Restart=on-failure\nRestartSec=5"),
    /** The agent reads `.env` by itself; without it, the unit's command reads it first. */
    reads_env: z.boolean().default(false),
  }),
  api: z.strictObject({
    /** The first free port from `first` on that is not one of `avoid`. */
    port: z.strictObject({
      first: z.number().int(),
      last: z.number().int(),
      avoid: z.array(z.number().int()).default([]),
    }),
    /** What is served on the port: `http`, only a `tcp` listener, or `none`. Template: the settings. */
    check: z.string().default("http"),
    /** The bearer key's name in secrets.json; 64 lowercase hex digits, made by clm. Without it the API has no key. */
    secret: variable.optional(),
    /** Answers 200 when all is well. Template: the settings. */
    health: z.string(),
    /** Answers 200 with the key, and 401 without it. */
    models: z.string().optional(),
    chat: z
      .strictObject({
        path: z.string(),
        model: z.string(),
        /** Answers that start so are failures told as answers; `{n}` is a number, `{status}` an HTTP status. */
        failures: z.array(z.string()).default([]),
        /** The same, only in answers that report zero tokens: a model can begin so too. */
        failures_without_usage: z.array(z.string()).default([]),
        /** Characters of one message that are read; what comes after them is dropped without a word. */
        longest: z.number().int().positive().optional(),
      })
      .optional(),
    /** Milliseconds until it must listen; each MCP server adds `per_server`. Then its channels have `channels` to connect. */
    timeout: z.strictObject({
      start: z.number().int(),
      per_server: z.number().int(),
      channels: z.number().int().default(30_000),
    }),
  }),
  /** Versions that can move a session to one of their channels. */
  handoff: z.strictObject({ channels: range }).optional(),
  /** Pages for a browser on the same machine, served while somebody looks at them. */
  dashboard: z
    .strictObject({
      /** Versions that have it. */
      when: range,
      /** What is run, after the launcher. It must bind the loopback alone. Template: `port`. */
      args: z.array(z.string()),
      /** What a browser asks for first; 200 says that it is there. */
      page: z.string().startsWith("/"),
      /** The first free one on the host is taken. */
      ports: z.strictObject({ first: z.number().int(), last: z.number().int() }),
      /** Milliseconds until it must answer. */
      timeout: z.number().int().positive(),
    })
    .optional(),
  /** A server beside the agent that lends the login of a subscription. It asks nobody for a key. */
  proxy: z
    .strictObject({
      /** Versions that have it. */
      when: range,
      /** Template: `name`. */
      unit: z.string(),
      /** What its unit runs, after the launcher. It must bind the loopback alone. Templates: `provider`, `port`. */
      args: z.array(z.string()),
      /** The first that nobody has on the host is taken. */
      ports: z.strictObject({ first: z.number().int(), last: z.number().int() }),
      /** Answers with JSON: `upstream`, and `authenticated` when it has a login to lend. */
      health: z.string().startsWith("/"),
      /** Bytes of a request that it reads; a larger one is refused. */
      largest: z.number().int().positive(),
      /** Milliseconds until it must answer. */
      timeout: z.number().int().positive(),
      /** Exit codes after which starting it again does not help. */
      hopeless: z.array(z.number().int()).default([]),
      /** How the agent's program tells whether it is logged in: `line` has the groups `provider` and `state`. */
      status: z.strictObject({ args: z.array(z.string()), line: pattern, ready: pattern }),
      providers: z.record(
        word,
        z.strictObject({
          title: z.string(),
          when: range,
          /** Below /v1; any other is refused. */
          paths: z.array(z.string().startsWith("/")),
          /** What to type in a shell of the agent to log in. */
          login: z.string(),
        }),
      ),
    })
    .optional(),
  /** Other programs that can run the agent's turns, each with settings and a login of its own. */
  runtimes: z
    .record(
      word,
      z.strictObject({
        title: z.string(),
        /** Versions that can hand their turns to it. */
        when: range,
        /** What the rendered model.provider must be. */
        provider: word,
        /** The setting below `model` that hands turns over, and the value it then has. */
        key: word,
        setting: word.optional(),
        /** What it is called on the service's PATH. */
        program: word,
        /** Of the program: what the agent asks for, what is known to work, what clm installs. */
        least: semver,
        advised: semver,
        default: semver,
        /** Where its settings are: for all of the user's, or for this agent alone. Templates: the places. */
        homes: z.strictObject({ shared: z.string(), own: z.string() }),
        /** Where clm installs it. Template: the places. */
        place: z.string(),
        /** What then stands on the service's PATH. Template: the places. */
        launcher: z.string(),
        /** What logs it in, after the program; and what logs the agent in, after the launcher. */
        login: z.array(z.string()),
        agent_login: z.array(z.string()),
        /** Where the agent keeps its own logins. Template: the places. */
        logins: z.string(),
        /** The agent as an MCP server of it, in its own words. Templates: the places. */
        callback: z.strictObject({
          command: z.string(),
          args: z.array(z.string()),
          env: z.record(z.string(), z.string()),
          env_vars: z.array(variable).default([]),
          startup_timeout_sec: z.number().positive(),
          tool_timeout_sec: z.number().positive(),
        }),
        /** What an agent is without while it runs on it. */
        lost: z.array(z.string()),
        /** The same of what it could be told, by what clm writes there. */
        untold: z.string(),
        /** On the registry of npm, with the bytes of each version for each kind of machine. */
        package: z.string(),
        /** Directives of the sandbox that it needs otherwise: by directive, what stands in its place. */
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
              /** Where the program is in the package. */
              program: z.string(),
            }),
          ),
        ),
      }),
    )
    .default({}),
  /** Always rendered. Templates: `port`, `api_key`, `provider` (the rendered model.provider). */
  render: z.array(rendering).default([]),
  /**
   * Parts of config.yaml that are clm's alone, as dotted paths: what is not rendered there is taken away.
   * A `*` stands for each auxiliary task, and is written out when the manifest is loaded.
   */
  managed: z.array(z.string()).default([]),
  /** Variables nobody but clm sets, beside those of `render`: patterns of the whole name. */
  reserved: z.array(pattern).default([]),
  /**
   * Variables of `.env` that the agent takes out of the environment of the commands it runs: patterns of the whole name.
   * The agent itself and MCP servers whose settings name them have them.
   */
  stripped: z.array(pattern).default([]),
  /** Names of tasks that may have a model of their own. */
  auxiliary: z.array(z.strictObject({ name: word, when: range })).default([]),
  providers: z.record(word, provider).default({}),
  channels: z.record(word, channel).default({}),
  mcp: z.record(word, mcpServer).default({}),
  /**
   * Lines of its log about an MCP server, all of which contain one text: that it was given up, and why (groups `name` and
   * `why`), and that it is connected after all (group `name`). Without it, nothing is known of them.
   */
  mcp_log: z.strictObject({ contains: z.string().min(1), lost: pattern, connected: pattern }).optional(),
  memory: z.record(z.string(), memoryFile).default({}),
  /** Memory the agent keeps from its model, seen by a pattern: told to who writes it. */
  memory_hidden: z.array(z.strictObject({ when: range, pattern, means: z.string() })).default([]),
  stages: z.array(
    z.strictObject({ name: z.enum(["providers", "identity", "channels", "validate"]), skipped: z.string().optional() }),
  ),
  /** What a line in the journal or a log means. Template in `next`: `name`, `host`, `port`. */
  causes: z
    .array(
      z.strictObject({
        /** Never changes: the doctor's check `log.<id>` is called by it. */
        id: z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, "should be words of a-z and 0-9 with - between them"),
        pattern,
        reason: z.string(),
        next: z.string().optional(),
        /** The proofs whose failure it explains; without it, any. */
        proofs: z.array(z.string().transform(currentId).pipe(z.enum(proofIds))).optional(),
        /** The doctor's checks that see the same thing now; without it, the proofs. None: the line is all there is to go by. */
        checks: z.array(z.string().transform(currentId)).optional(),
        /** It passes by itself, or the agent does without: never more than a warning. */
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
export type Rendering = z.infer<typeof rendering>;
export type ServiceRequest = z.infer<typeof request>;
export type ProviderType = z.infer<typeof provider>;
export type ChannelType = z.infer<typeof channel>;
export type McpType = z.infer<typeof mcpServer>;
export type Cause = Manifest["causes"][number];
export type StageName = Manifest["stages"][number]["name"];
