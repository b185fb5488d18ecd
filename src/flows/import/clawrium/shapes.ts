import { z } from "zod";

/**
 * Clawrium's files, of early versions (called clm) and later ones. They have no version and no schema, so only the
 * values clm needs must be valid; any other invalid value counts as missing.
 */

const text = z.string({ error: ({ input }) => (input === undefined ? "is missing" : "should be a string") });
const maybe = <T extends z.ZodType>(shape: T) => shape.optional().catch(undefined);
const maybeText = maybe(text);
const texts = z
  .array(z.unknown())
  .catch([])
  .transform((list) => list.filter((each): each is string => typeof each === "string" && each !== ""));
/** Its members are parsed one by one. */
export const object = z.record(z.string(), z.unknown(), "should be an object");
const loose = object.catch({});

const attachment = z.object({ name: text, role: maybeText, model: maybeText });

/** An item is a name, or since Clawrium 26.6 an object with one. */
const attachments = z
  .array(z.unknown())
  .catch([])
  .transform((list) =>
    list.flatMap((each) => attachment.safeParse(typeof each === "string" ? { name: each } : each).data ?? []),
  );

const stage = z.object({ status: maybeText, completed_at: maybeText, provider_id: maybeText });

export const oldAgent = z.object(
  {
    type: text,
    version: text,
    status: text,
    installed_at: maybeText,
    agent_name: maybeText,
    config: maybe(
      z.object({
        provider: maybe(z.object({ name: maybeText, default_model: maybeText })),
        channels: loose,
        api_server: maybe(z.object({ port: maybe(z.number().int()) })),
      }),
    ),
    onboarding: maybe(z.object({ state: maybeText, stages: z.record(z.string(), stage.catch({})).catch({}) })),
    providers: attachments,
    channels: attachments,
    integrations: attachments,
  },
  "should be an object",
);

export const oldHosts = z.array(
  z.object(
    {
      hostname: text.min(1, "should not be empty"),
      key_id: maybeText,
      alias: maybeText,
      aliases: texts,
      port: maybe(z.number().int().min(1).max(65535)),
      user: maybeText,
      os_family: maybeText,
      metadata: maybe(z.object({ added_at: maybeText, tags: texts, labels: loose })),
      agents: object.nullish().transform((agents) => agents ?? {}),
      claws: z.undefined("is from an early version of Clawrium: install its agents again").optional(),
    },
    "should be an object",
  ),
  "should be a list",
);

/** An entry of providers.json, channels.json or integrations.json. */
export const oldEntry = z.object({
  name: text,
  type: text,
  default_model: maybeText,
  endpoint: maybeText,
  region: maybeText,
  created_at: maybeText,
  updated_at: maybeText,
  config: loose,
});

/** A list whose items are parsed one by one. */
export const entries = z.array(object, "should be a list");

export type OldHost = z.infer<typeof oldHosts>[number];
export type OldAgent = z.infer<typeof oldAgent>;
export type OldEntry = z.infer<typeof oldEntry>;
