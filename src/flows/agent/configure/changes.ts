import { checkAnswer } from "../../../agents/manifest/fields.js";
import type { Field, Manifest } from "../../../agents/manifest/manifest.js";
import { noCapability } from "../../../agents/manifest/no-capability.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import { hasSecret } from "../../../secret-shapes.js";
import type { AgentRecord } from "../../../state/agent.js";
import { findProvider, type Providers } from "../../../state/providers.js";
import { defined } from "../../../text/defined.js";
import { didYouMean } from "../../../text/nearest.js";
import { namedByOthers, own } from "../../../text/own-property.js";
import type { SecretSource } from "../../secret-source.js";
import { withAbsolutePaths } from "../uploads.js";

/** A model of a provider; without a model, the provider's own. */
export interface Choice {
  provider: string;
  model?: string | undefined;
}

export interface PartAnswers {
  /** By field. An empty string removes the answer. */
  fields: Record<string, string>;
  secrets: Record<string, SecretSource>;
  /** A custom MCP server, as in config.yaml. */
  server?: Record<string, unknown>;
}

/** Requested changes to an agent. Everything else stays. */
export interface Changes {
  provider?: string | undefined;
  /** Empty for the provider's own. */
  model?: string | undefined;
  fallbacks?: Choice[] | undefined;
  /** By task; undefined removes the task's model. */
  auxiliary: Record<string, Choice | undefined>;
  channels: Record<string, PartAnswers>;
  withoutChannels: string[];
  mcp: Record<string, PartAnswers>;
  withoutMcp: string[];
  settings: PartAnswers;
  port?: number | "auto" | undefined;
  relaxed?: boolean | undefined;
  /** The stages that were completed, and when, even if nothing changed. */
  answered?: { providers?: string; identity?: string; channels?: string };
}

export const noChanges = (): Changes => ({
  auxiliary: {},
  channels: {},
  withoutChannels: [],
  mcp: {},
  withoutMcp: [],
  settings: noAnswers(),
});

export const noAnswers = (): PartAnswers => ({ fields: namedByOthers(), secrets: namedByOthers() });

/** Stages with answers; `agent` are the port and the sandbox. */
export function answersGiven(changes: Changes): Record<"providers" | "identity" | "channels" | "agent", boolean> {
  const { provider, model, fallbacks, auxiliary, channels, withoutChannels, mcp, withoutMcp, port, relaxed } = changes;
  const { fields, secrets } = changes.settings;
  const isGiven = (value: unknown): boolean => value !== undefined;
  return {
    providers: [provider, model, fallbacks].some(isGiven) || Object.keys(auxiliary).length > 0,
    identity: Object.keys({ ...fields, ...secrets }).length > 0,
    channels: [channels, mcp, withoutChannels, withoutMcp].some((each) => Object.keys(each).length > 0),
    agent: [port, relaxed].some(isGiven),
  };
}

export interface SecretAnswer {
  /** The channel or server; empty for a setting. */
  part: string;
  field: Field;
  source: SecretSource;
}

export interface Draft {
  record: AgentRecord;
  secrets: SecretAnswer[];
}

/** The API is a channel that is always on; also called cli. */
export const alwaysOn = ["api_server", "cli"];

/** The new record, with every answer checked. The port is chosen later, on the host. */
export function draftOf(agent: ResolvedAgent, providers: Providers, record: AgentRecord, changes: Changes): Draft {
  const { manifest } = agent;
  mustBeAsked(manifest, changes);
  const secrets: SecretAnswer[] = [];
  const choices = [{ provider: changes.provider }, ...(changes.fallbacks ?? []), ...Object.values(changes.auxiliary)];
  for (const choice of choices) if (choice?.provider !== undefined) findProvider(providers, choice.provider);

  const channels: NonNullable<AgentRecord["channels"]> = { ...record.channels };
  for (const [name, part] of Object.entries(changes.channels)) {
    const { fields } = mustBeKnown(manifest, "channels", name);
    channels[name] = answeredPart(name, fields, channels[name] ?? {}, part, secrets);
  }
  for (const name of changes.withoutChannels) {
    if (!Object.hasOwn(channels, name)) mustBeKnown(manifest, "channels", name);
    delete channels[name];
  }

  const mcp: NonNullable<AgentRecord["mcp"]> = { ...record.mcp };
  for (const [name, part] of Object.entries(changes.mcp)) {
    if (part.server) mcp[name] = { server: part.server };
    // A custom server has no fields: an answer to one is refused.
    else if (mcp[name]?.server) answeredPart(name, [], {}, part, secrets);
    else {
      const { fields } = mustBeKnown(manifest, "mcp", name);
      mcp[name] = { fields: answeredPart(name, fields, mcp[name]?.fields ?? {}, part, secrets) };
    }
  }
  for (const name of changes.withoutMcp) {
    if (!Object.hasOwn(mcp, name) && !Object.hasOwn(manifest.mcp, name)) mustNotBeTypo(name, Object.keys(mcp));
    delete mcp[name];
  }

  const settings = answeredPart("", manifest.settings, record.settings ?? {}, changes.settings, secrets);
  const { provider = record.provider, fallbacks = record.fallbacks, relaxed = record.relaxed } = changes;
  // A model's name is valid only for its provider.
  const { model = provider === record.provider ? record.model : undefined } = changes;
  return {
    secrets,
    record: defined({
      ...record,
      provider,
      model: model || undefined,
      fallbacks: fallbacks?.length ? fallbacks : undefined,
      auxiliary: unlessEmpty(auxiliaryAfter(record, changes)),
      channels: unlessEmpty(channels),
      mcp: unlessEmpty(mcp),
      settings: unlessEmpty(settings),
      relaxed: relaxed || undefined,
      onboarding: { ...record.onboarding, stages: withCompleted(record.onboarding.stages, changes.answered) },
    }),
  };
}

/** The models for auxiliary tasks that the agent has with these changes. */
export const auxiliaryAfter = (record: AgentRecord, changes: Changes): Record<string, Choice> =>
  defined({ ...record.auxiliary, ...changes.auxiliary }) as Record<string, Choice>;

function mustBeAsked(manifest: Manifest, changes: Changes): void {
  const given = answersGiven(changes);
  const skips = (stage: string): boolean => manifest.stages.some(({ name, skipped }) => name === stage && skipped);
  if (given.providers && skips("providers")) throw noCapability(manifest, "model provider");
  if (given.channels && skips("channels")) throw noCapability(manifest, "channels or MCP servers");
}

type Stages = AgentRecord["onboarding"]["stages"];

/** A stage keeps the time when it was first completed. */
function withCompleted(before: Stages, answered: Changes["answered"] = {}): Stages {
  const stages = { ...before };
  for (const [name, at] of Object.entries(answered)) stages[name] ??= { result: "complete", at };
  return stages;
}

/** `discord.token` of a channel, `command` of the agent itself. */
export const flagName = (part: string, field: string): string => (part === "" ? field : `${part}.${field}`);

const unlessEmpty = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined);

function mustBeKnown(manifest: Manifest, kind: "channels" | "mcp", name: string): { fields: Field[] } {
  const type = own<{ fields: Field[] }>(manifest[kind], name);
  if (type) return type;
  const known = Object.keys(manifest[kind]);
  const hint = didYouMean(name, known, `there are ${known.join(", ")}`);
  throw new Fault("bad-input", `there is no ${kind === "mcp" ? "MCP server" : "channel"} called '${name}'`, {
    ...hint,
    why: kind === "channels" && alwaysOn.includes(name) ? "it is always on" : hint.why,
    next: "clm agent channels",
  });
}

/** A custom server may have any name: an unknown one was removed before, or is misspelled. */
function mustNotBeTypo(name: string, on: string[]): void {
  const hint = didYouMean(name, on);
  if (hint.data.guess) throw new Fault("bad-input", `the agent has no MCP server '${name}' to remove`, hint);
}

function answeredPart(
  name: string,
  fields: Field[],
  before: Record<string, string>,
  part: PartAnswers,
  secrets: SecretAnswer[],
): Record<string, string> {
  const answers = { ...before };
  for (const [key, text] of Object.entries(part.fields)) {
    const field = fieldOf(name, fields, key);
    const title = flagName(name, key);
    if (field.secret) {
      throw new Fault("bad-input", `${title} is a secret, and a secret is never an argument`, {
        why: `give its source: --secret ${title}=env:VARIABLE`,
      });
    }
    // A channel is removed as a whole; a required setting is always needed.
    const required = field.required && name === "";
    const answer = withPartName(name, () => checkAnswer({ ...field, required }, text));
    if (name === "" && !field.upload) mustNotHoldSecret(field, answer);
    if (answer === "") delete answers[key];
    else answers[key] = field.upload ? withAbsolutePaths(answer) : answer;
  }
  for (const [key, source] of Object.entries(part.secrets)) {
    const field = fieldOf(name, fields, key);
    if (!field.secret) {
      throw new Fault("bad-input", `${flagName(name, key)} is not a secret`, {
        why: `use --set ${flagName(name, key)}=VALUE`,
      });
    }
    secrets.push({ part: name, field, source });
  }
  return answers;
}

/** Settings are stored in plain text. `$NAME` in a command only refers to a secret. */
function mustNotHoldSecret({ name, list }: Field, answer: string): void {
  const texts = answer.replace(/\$(\w+)/g, "$${$1}").split(list ? "," : "\n");
  if (!texts.some(hasSecret)) return;
  throw new Fault("bad-input", `${name} looks like a secret, and settings are stored in plain text`, {
    why: "store it with clm agent secret set AGENT NAME; the program gets it as the variable $NAME",
  });
}

/** Prefixes a fault about an answer with the name of its channel or server. */
export function withPartName<T>(name: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof Fault && name !== "") error.message = `${name}.${error.message}`;
    throw error;
  }
}

function fieldOf(name: string, fields: Field[], key: string): Field {
  const field = fields.find((each) => each.name === key);
  if (field) return field;
  const names = fields.map((each) => each.name);
  const hint = didYouMean(key, names, `it has ${names.join(", ") || "none"}`);
  const what = name === "" ? `there is no setting called '${key}'` : `${name} has no field called '${key}'`;
  throw new Fault("bad-input", what, hint);
}
