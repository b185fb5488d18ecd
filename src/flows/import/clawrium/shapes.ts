import { z } from "zod";

/**
 * Clawrium's files, of early versions (called clm) and later ones. They have no version and no schema, so only the
 * values clm needs must be valid; any other invalid value counts as missing.
 */

const text = z.string({ error: ({ input }) => (input === undefined ? "is missing" : "should be a string") });
const maybeText = text.optional().catch(undefined);
const texts = z
  .array(z.unknown())
  .catch([])
  .transform((list) => list.filter((each): each is string => typeof each === "string" && each !== ""));
const object = z.record(z.string(), z.unknown(), "should be an object");
const loose = object.catch({});

/** An item is a name, or since Clawrium 26.6 an object with one. */
const named = z
  .array(z.unknown())
  .catch([])
  .transform((list) => list.map((each) => (typeof each === "string" ? { name: each } : each)))
  .transform((list) =>
    list.flatMap((each) => {
      const found = z.object({ name: text, role: maybeText, model: maybeText }).safeParse(each);
      return found.success ? [found.data] : [];
    }),
  );

const stage = z.object({ status: maybeText, completed_at: maybeText, provider_id: maybeText });

export const oldAgent = z.object(
  {
    type: text,
    version: text,
    status: text,
    installed_at: maybeText,
    agent_name: maybeText,
    config: z
      .object({
        provider: z.object({ name: maybeText, default_model: maybeText }).optional().catch(undefined),
        channels: loose,
        api_server: z
          .object({ port: z.number().int().optional().catch(undefined) })
          .optional()
          .catch(undefined),
      })
      .optional()
      .catch(undefined),
    onboarding: z
      .object({ state: maybeText, stages: z.record(z.string(), stage.catch({})).catch({}) })
      .optional()
      .catch(undefined),
    providers: named,
    channels: named,
    integrations: named,
  },
  "should be an object",
);

export const oldHosts = z.array(
  z
    .object(
      {
        hostname: text.min(1, "should not be empty"),
        key_id: maybeText,
        alias: maybeText,
        aliases: texts,
        port: z.number().int().min(1).max(65535).optional().catch(undefined),
        user: maybeText,
        os_family: maybeText,
        metadata: z.object({ added_at: maybeText, tags: texts, labels: loose }).optional().catch(undefined),
        agents: object.nullish(),
        claws: z.undefined("is from an early version of Clawrium: install its agents again").optional(),
      },
      "should be an object",
    )
    .transform(({ agents, claws: _, ...host }) => ({ ...host, agents: agents ?? {} })),
  "should be a list",
);

export const oldProvider = z.object({
  name: text,
  type: text,
  default_model: maybeText,
  endpoint: maybeText,
  region: maybeText,
  created_at: maybeText,
  updated_at: maybeText,
});

export const oldChannel = z.object({ name: text, type: text, config: loose });
export const oldIntegration = z.object({ name: text, type: text });

/** A list whose items are parsed one by one. */
export const entries = z.array(object, "should be a list");
/** By owner key; entries are parsed one by one. */
export const oldSecrets = object;

export type OldHost = z.infer<typeof oldHosts>[number];
export type OldAgent = z.infer<typeof oldAgent>;
export type OldProvider = z.infer<typeof oldProvider>;
export type OldChannel = z.infer<typeof oldChannel>;
export type OldIntegration = z.infer<typeof oldIntegration>;
