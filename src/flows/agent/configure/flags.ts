import { Fault } from "../../../errors.js";
import { namedByOthers } from "../../../text/own-property.js";
import { parseSource } from "../../secret-source.js";
import type { AgentTarget } from "../target.js";
import type { SecretTest } from "./answers-file.js";
import { alwaysOn, type Changes, type Choice, flagName, noAnswers, noChanges, type PartAnswers } from "./changes.js";

export interface Flags {
  provider?: string | undefined;
  model?: string | undefined;
  fallback: string[];
  auxiliary: string[];
  channel: string[];
  withoutChannel: string[];
  mcp: string[];
  withoutMcp: string[];
  set: string[];
  secret: string[];
  port?: string | undefined;
  relaxed?: boolean | undefined;
}

export async function givenChanges(
  { agent, resolved: { manifest } }: AgentTarget,
  { flags, file }: { flags: Flags; file?: string | undefined },
): Promise<Changes> {
  const { channels = {}, mcp = {} } = agent.record;
  const isSecret: SecretTest = (kind, name, field) => {
    const fields = kind === "settings" ? manifest.settings : (manifest[kind][name]?.fields ?? []);
    return fields.some((each) => each.name === field && each.secret !== undefined);
  };
  // The YAML parser takes long to load.
  const below = file === undefined ? undefined : await (await import("./answers-file.js")).answersIn(file, isSecret);
  return changesFrom(flags, { channels: Object.keys(channels), mcp: Object.keys(mcp) }, below);
}

/** `on` are the parts that are on already: answers to them need no --channel or --mcp. */
export function changesFrom(
  flags: Flags,
  on: { channels: string[]; mcp: string[] },
  below: Changes = noChanges(),
): Changes {
  mustAgree("channel", flags.channel, flags.withoutChannel);
  mustAgree("mcp", flags.mcp, flags.withoutMcp);
  const channels = namedByOthers(below.channels);
  const mcp = namedByOthers(below.mcp);
  for (const name of flags.channel) if (!alwaysOn.includes(name)) channels[name] ??= noAnswers();
  for (const name of flags.mcp) mcp[name] ??= noAnswers();

  const { fields, secrets } = below.settings;
  const settings = { fields: namedByOthers(fields), secrets: namedByOthers(secrets) };
  const partFor = (flag: string, name: string): PartAnswers => {
    if (name === "") return settings;
    const parts = channels[name] || on.channels.includes(name) ? channels : mcp;
    if (parts === mcp && !mcp[name] && !on.mcp.includes(name)) {
      throw new Fault("bad-input", `${flag} ${name}.…: ${name} is not on`, {
        why: `add --channel ${name} (or --mcp ${name}) to turn it on`,
      });
    }
    parts[name] ??= noAnswers();
    return parts[name];
  };
  for (const { name, field, value } of allDotted("--set", flags.set)) {
    partFor("--set", name).fields[field] = value;
  }
  for (const { name, field, value } of allDotted("--secret", flags.secret)) {
    partFor("--secret", name).secrets[field] = parseSource(value);
  }
  const { provider = below.provider, model = below.model, relaxed = below.relaxed } = flags;
  return {
    provider,
    model: model === "none" ? "" : model,
    relaxed,
    fallbacks: flags.fallback.length > 0 ? fallbacksFrom(flags.fallback) : below.fallbacks,
    auxiliary: { ...below.auxiliary, ...auxiliaryFrom(flags.auxiliary) },
    channels,
    withoutChannels: [...below.withoutChannels, ...flags.withoutChannel],
    mcp,
    withoutMcp: [...below.withoutMcp, ...flags.withoutMcp],
    settings,
    port: flags.port === undefined ? below.port : portFrom(flags.port),
  };
}

function mustAgree(flag: string, wanted: string[], unwanted: string[]): void {
  const both = wanted.find((name) => unwanted.includes(name));
  if (both) throw new Fault("usage", `--${flag} ${both} and --without-${flag} ${both} contradict each other`);
}

/** `PROVIDER` or `PROVIDER/MODEL`; a model's name may contain slashes. */
export function choiceFrom(text: string): Choice {
  const at = text.indexOf("/");
  if (at < 0) return { provider: text };
  return { provider: text.slice(0, at), model: text.slice(at + 1) };
}

const fallbacksFrom = (texts: string[]): Choice[] =>
  texts.length === 1 && texts[0] === "none" ? [] : texts.map(choiceFrom);

/** Models by task; undefined removes a task's model. */
export function auxiliaryFrom(texts: string[]): Changes["auxiliary"] {
  const tasks = texts.map(taskFrom);
  const names = tasks.map(([task]) => task);
  mustDiffer("--auxiliary", names);
  return Object.fromEntries(tasks);
}

/** Of two values for one field the first would silently be ignored. */
function mustDiffer(flag: string, fields: string[]): void {
  const twice = fields.find((field, at) => fields.indexOf(field) !== at);
  if (twice !== undefined) throw new Fault("usage", `${flag} ${twice}=… is given twice`);
}

function taskFrom(text: string): [string, Choice | undefined] {
  const [, task, choice] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (task && choice) return [task, choice === "none" ? undefined : choiceFrom(choice)];
  throw new Fault("bad-input", "--auxiliary is written --auxiliary TASK=PROVIDER[/MODEL]", {
    why: "as --auxiliary vision=gpu/llava; TASK=none removes it",
  });
}

function allDotted(flag: string, texts: string[]): ReturnType<typeof dotted>[] {
  const all = texts.map((text) => dotted(flag, text));
  const names = all.map(({ name, field }) => flagName(name, field));
  mustDiffer(flag, names);
  return all;
}

/** `discord.allowed_users=…`. The fault does not show the value: it may be a secret. */
function dotted(flag: string, text: string): { name: string; field: string; value: string } {
  const [, name = "", field, value] = /^(?:([^.=]+)\.)?([^.=]+)=(.*)$/s.exec(text) ?? [];
  if (field && value !== undefined) return { name, field, value };
  throw new Fault("bad-input", `${flag} is written ${flag} CHANNEL.FIELD=… or ${flag} SETTING=…`, {
    why: `as ${flag} ${examples[flag]}`,
  });
}

const examples: Record<string, string> = {
  "--set": "discord.allowed_users=123456789012345678",
  "--secret": "discord.token=env:DISCORD_TOKEN",
};

function portFrom(text: string): number | "auto" {
  if (text === "auto") return "auto";
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port > 0 && port < 65_536) return port;
  throw new Fault("bad-input", `--port ${text} is not a port`, {
    why: "it should be a number from 1 to 65535, or auto",
  });
}
