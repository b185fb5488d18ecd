import { anything, boolean, list, object, oneOf, optional, record, type TypeOf, text, whole } from "./shape.js";

const model = object({ provider: text, model: optional(text) });
const stage = object({ result: oneOf("complete", "skipped"), at: text });

/** An agent as recorded under its host. Its secrets are in secrets.json. */
export const agent = object({
  type: text,
  version: text,
  /** `installing` from the first change until the install is verified; `removing` from the first deletion. */
  status: oneOf("installing", "installed", "removing"),
  /** Ownership tag in the account's comment on the host. Imported agents have none. */
  mark: optional(text),
  user: text,
  home: text,
  unit: text,
  port: whole(1, 65535),
  /** The unit has a weaker sandbox, for browser tools. */
  relaxed: optional(boolean),
  installer: optional(object({ sha256: text, size: whole(0, 2 ** 40) })),
  installed_at: optional(text),
  provider: optional(text),
  /** Defaults to the provider's model. */
  model: optional(text),
  fallbacks: optional(list(model)),
  /** By task name. */
  auxiliary: optional(record(model)),
  /** Answers to the settings of its type that are not secret. */
  settings: optional(record(text)),
  /** Non-secret answers by channel. Booleans are "true" and "false"; lists are comma-separated. */
  channels: optional(record(record(text))),
  /** By server: `fields` for a server the manifest knows, `server` for a custom one, in config.yaml's format. */
  mcp: optional(record(object({ fields: optional(record(text)), server: optional(record(anything)) }))),
  /** The proxy unit beside the agent's own, and the provider it serves. */
  proxy: optional(object({ provider: text, port: whole(1, 65535) })),
  /** The program that runs its turns. When unset, clm leaves the runtime settings in config.yaml alone. */
  runtime: optional(
    object({
      /** `auto`, or the name of another program that runs them. */
      kind: text,
      /** The other program's settings directory. */
      home: text,
      permissions: text,
      /** The agent's identity and memory are copied to it. */
      mirror: boolean,
      /** Its own plugins, as listed when it was enabled. */
      plugins: list(object({ name: text, marketplace: text, enabled: boolean })),
    }),
  ),
  onboarding: object({
    state: oneOf("providers", "identity", "channels", "validate", "ready"),
    stages: record(stage),
  }),
  rendered: optional(
    object({
      /** By managed file, the names clm owns in it and may remove without asking. Records of clm 0.1 have the lists beside `digest`. */
      owned: optional(record(list(text))),
      /** Covers everything rendered; a proof is valid while this is unchanged. */
      digest: text,
      at: text,
    }),
  ),
  /** Stopped by the user: it stays down until it is started or configured again. */
  down: optional(boolean),
  /** When validate last passed, and for which rendering. */
  proven: optional(object({ digest: text, at: text, chat: boolean })),
  /** When validate last failed, on which proofs and why; removed when those proofs pass again. */
  failed: optional(object({ digest: text, at: text, proofs: list(text), reason: text })),
});

export type AgentRecord = TypeOf<typeof agent>;
export type OnboardingState = AgentRecord["onboarding"]["state"];

/** The providers an agent uses: its main one, its fallbacks and those of auxiliary tasks. */
export const providersOf = ({ provider, fallbacks = [], auxiliary = {} }: AgentRecord): string[] =>
  [{ provider }, ...fallbacks, ...Object.values(auxiliary)].flatMap((choice) => choice.provider ?? []);

export function ownedNames({ rendered }: Pick<AgentRecord, "rendered">): Record<string, string[]> {
  if (!rendered) return {};
  const { owned, digest: _, at: __, ...older } = rendered;
  return owned ?? (older as Record<string, string[]>);
}
