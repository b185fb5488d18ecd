import { anything, list, object, oneOf, optional, record, type Shaped, text, truth, whole } from "./shape.js";

const model = object({ provider: text, model: optional(text) });

const stage = object({ result: oneOf("complete", "skipped"), at: text });

/** An agent as it is recorded under its host. What is secret about it is in secrets.json. */
export const agent = object({
  type: text,
  version: text,
  /** `installing` from the first change until all was seen to be there; `removing` from the first thing taken away. */
  status: oneOf("installing", "installed", "removing"),
  /** Stands in the account's comment on the host: the mark of what this clm made. Adopted agents have none. */
  mark: optional(text),
  user: text,
  home: text,
  unit: text,
  port: whole(1, 65535),
  /** The unit is less closed, for browser tools. */
  relaxed: optional(truth),
  /** The installer that was run. */
  installer: optional(object({ sha256: text, size: whole(0, 2 ** 40) })),
  installed_at: optional(text),
  /** The name of a provider in providers.json. */
  provider: optional(text),
  /** Without it, the provider's own. */
  model: optional(text),
  fallbacks: optional(list(model)),
  /** By the name of the task. */
  auxiliary: optional(record(model)),
  /** By channel, what was answered and is no secret: a text, or true and false. A list is a text with commas. */
  channels: optional(record(record(text))),
  /** By server: `fields` for one the manifest knows, `server` for one of the user's own, as config.yaml wants it. */
  mcp: optional(record(object({ fields: optional(record(text)), server: optional(record(anything)) }))),
  /** Its proxy, a unit beside its own, and what that is to serve. */
  proxy: optional(object({ provider: text, port: whole(1, 65535) })),
  /** Who runs its turns. Without it, nobody asked clm about that, and what its config.yaml says is left alone. */
  runtime: optional(
    object({
      kind: oneOf("auto", "codex"),
      /** Where Codex has its settings. */
      home: text,
      permissions: text,
      /** Codex is told who the agent is, and what it remembers. */
      mirror: truth,
      /** Codex' own, as it told of them when it was switched on. */
      plugins: list(object({ name: text, marketplace: text, enabled: truth })),
    }),
  ),
  onboarding: object({
    state: oneOf("providers", "identity", "channels", "validate", "ready"),
    stages: record(stage),
  }),
  /** What clm last put on the host, by name only: it may be taken away again without asking. */
  rendered: optional(
    object({
      env: list(text),
      config: list(text),
      /** MCP servers that Codex was given, once it was given any. */
      codex: optional(list(text)),
      /** Of all that was rendered; a proof holds for as long as this stays. */
      digest: text,
      at: text,
    }),
  ),
  /** Somebody stopped it: it stays down until it is started, or configured, again. */
  down: optional(truth),
  /** When validate last saw everything in order, and for which rendering. */
  proven: optional(object({ digest: text, at: text, chat: truth })),
  /** When validate last failed, by which proofs and why; gone when the same proofs hold again. */
  failed: optional(object({ digest: text, at: text, proofs: list(text), reason: text })),
});

export type AgentRecord = Shaped<typeof agent>;
export type OnboardingState = AgentRecord["onboarding"]["state"];

/** The names of the providers that answer for an agent: its own, its fallbacks' and its tasks'. */
export const providersOf = ({ provider, fallbacks = [], auxiliary = {} }: AgentRecord): string[] =>
  [{ provider }, ...fallbacks, ...Object.values(auxiliary)].flatMap((choice) => choice.provider ?? []);
