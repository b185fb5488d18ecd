import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { didYouMean } from "../../text/nearest.js";
import { own } from "../../text/own-property.js";
import { mergeDeep } from "../../text/record.js";
import { EnvDraft } from "../files/dotenv.js";
import { filled, leavesOf, type Tree } from "../files/tree.js";
import { answered, publicValues, type Values } from "../manifest/fields.js";
import type { ChannelType, Field, McpType } from "../manifest/manifest.js";
import { inRange } from "../manifest/versions.js";
import type { ManagedFile } from "../plan/managed-file.js";
import { type Answers, mustHavePath, namedPaths, type ResolvedAgent } from "../plan/resolved-agent.js";
import { codexFiles } from "./codex/files.js";
import { runsOnCodex, runtimeConfig, runtimeEnv } from "./codex/runtime.js";
import {
  configOf,
  entryFor,
  filledEnv,
  modelOf,
  mustBeAnswered,
  mustHave,
  mustNotExpand,
  type RenderedModel,
  renderModel,
} from "./model-rendering.js";

export function files(agent: ResolvedAgent, answers: Answers): ManagedFile[] {
  const { env, config } = render(agent, answers);
  const attributes = { mode: 0o600, restarts: true };
  return [
    { id: "env", path: agent.paths.env, ...attributes, content: { merge: "variables", entries: env } },
    {
      id: "config",
      path: mustHavePath(agent, "config"),
      ...attributes,
      content: { merge: "yaml", tree: config, always: agent.manifest.managed },
    },
    ...codexFiles(agent, env),
  ];
}

/**
 * Fills the answers into the manifest's templates: the variables of `.env`, and clm's part of config.yaml, where secrets
 * are `${NAME}`. Independent of the host.
 */
export function render(agent: ResolvedAgent, answers: Answers) {
  const env = new EnvDraft();
  if (!answers.model) throw new Error(`no model was answered for ${agent.name}`);
  const main = renderModel(agent, answers.model);
  let config = basics(agent, answers, main, env);

  for (const [name, value] of main.env) env.put(name, value, main.owner);
  config = mergeDeep(mergeDeep(config, main.config), runtimeConfig(agent));
  mustServeCodex(agent, modelOf(main).provider);
  for (const [name, value] of Object.entries(runtimeEnv(agent))) env.put(name, value, `agent '${agent.name}' itself`);

  const fallbacks = answers.fallbacks.map((choice) => {
    const model = renderModel(agent, choice);
    config = withOthers(config, model);
    return entryFor(model, env, "fallback");
  });
  if (fallbacks.length > 0) config.fallback_providers = fallbacks;

  for (const [task, choice] of Object.entries(answers.auxiliary)) {
    mustBeTask(agent, task);
    const model = renderModel(agent, choice);
    config = withOthers(config, model);
    config = mergeDeep(config, { auxiliary: { [task]: entryFor(model, env, "auxiliary") } });
  }
  for (const [name, values] of Object.entries(answers.channels))
    config = mergeDeep(config, channel(agent, name, values, env));
  for (const [name, server] of Object.entries(answers.mcp))
    config = mergeDeep(config, mcpServer(agent, name, server, env));
  for (const [name, secret] of Object.entries(answers.extra)) env.put(name, secret, `your own ${name}`);

  return { env: env.entries, config };
}

/** With any other provider the agent would silently run its turns itself. */
function mustServeCodex(agent: ResolvedAgent, provider: unknown): void {
  const { manifest, ref, name } = agent;
  const needed = manifest.runtimes.codex?.provider;
  if (!runsOnCodex(agent) || provider === needed) return;
  throw new Fault("not-ready", `${name} runs on Codex, which needs a provider of type ${needed}`, {
    next: `clm agent runtime auto ${ref}`,
  });
}

function basics(
  { manifest, version, port, name }: ResolvedAgent,
  { apiKey }: Answers,
  main: RenderedModel,
  env: EnvDraft,
): Tree {
  const { provider } = modelOf(main);
  if (typeof provider !== "string")
    throw new Fault("bad-input", `the manifest of ${manifest.type} sets no model.provider for ${main.owner}`);
  const values: Values = { port: String(port), provider, api_key: apiKey };
  const parts = manifest.render.filter(({ when }) => inRange(version, when));
  for (const part of parts)
    for (const [key, value] of filledEnv(part.env, values)) env.put(key, value, `agent '${name}' itself`);
  return configOf(parts, values);
}

/** Settings of a second model outside `model`, such as a region: an agent has one of each, so both models must agree. */
function withOthers(config: Tree, { config: { model: _, ...others }, owner }: RenderedModel): Tree {
  const there = new Map(leavesOf(config));
  for (const [path, value] of leavesOf(others))
    if (there.has(path) && there.get(path) !== value)
      throw new Fault("bad-input", `${owner} sets ${path} to ${value}, and another provider to ${there.get(path)}`, {
        why: "an agent has only one",
        data: { path },
      });
  return mergeDeep(config, others);
}

function mustBeTask({ manifest, version }: ResolvedAgent, name: string): void {
  const task = manifest.auxiliary.find((each) => each.name === name);
  const tasks = manifest.auxiliary.filter(({ when }) => inRange(version, when)).map((each) => each.name);
  if (!task) throw unknown(`${manifest.title} has no auxiliary task '${name}'`, name, tasks);
  mustHave(manifest, version, task.when, `auxiliary task '${name}'`);
}

function unknown(what: string, name: string, known: string[], next: string[] = []): Fault {
  return new Fault("bad-input", what, { ...didYouMean(name, known, `there are ${known.join(", ")}`), next });
}

/** A channel or MCP server of the manifest, with the user's answers. */
function answeredType<T extends ChannelType | McpType>(
  { manifest, version, ref }: ResolvedAgent,
  kind: string,
  types: Record<string, T>,
  name: string,
  given: Values,
) {
  const type = own(types, name);
  if (!type)
    throw unknown(`${manifest.title} has no ${kind} '${name}'`, name, Object.keys(types), ["clm agent channels"]);
  const owner = `${kind} '${name}'`;
  mustHave(manifest, version, type.when, owner);
  const values = answered(type.fields, given);
  const next = `clm agent configure ${ref} --stage channels`;
  mustBeAnswered(type.fields, values, owner, next);
  return { type, owner, values, next };
}

function channel(agent: ResolvedAgent, name: string, given: Values, env: EnvDraft): Tree {
  const { type, owner, values, next } = answeredType(agent, "channel", agent.manifest.channels, name, given);
  mustAllowSomebody(type, values, owner, next);
  putFields(type.fields, values, env, owner);
  for (const [key, value] of filledEnv(type.env, publicValues(values))) env.put(key, value, owner);
  mustNotExpand(Object.keys(type.config).length > 0 ? values : {}, owner);
  return filled(type.config, publicValues(values));
}

function mustAllowSomebody({ allow, fields }: ChannelType, values: Values, owner: string, next: string): void {
  const flags = new Set(fields.filter(({ flag }) => flag).map(({ name }) => name));
  const open = allow.some((name) => (flags.has(name) ? values[name] === "true" : Object.hasOwn(values, name)));
  if (allow.length === 0 || open) return;
  throw new Fault("bad-input", `no user is allowed to talk to the agent on ${owner}`, {
    why: `answer one of ${allow.join(", ")}`,
    next,
    data: { fields: allow },
  });
}

function putFields(fields: Field[], values: Values, env: EnvDraft, owner: string): void {
  for (const { name, env: variable, secret } of fields) {
    const [key, value] = [variable ?? secret, values[name]];
    if (!key || value === undefined) continue;
    env.put(key, secret && !(value instanceof Secret) ? new Secret(value) : value, owner);
  }
}

function mcpServer(agent: ResolvedAgent, name: string, given: Answers["mcp"][string], env: EnvDraft): Tree {
  const slug = name.replaceAll("-", "_");
  if (given.server) return { mcp_servers: { [slug]: given.server } };
  const { type, owner, values } = answeredType(agent, "MCP server", agent.manifest.mcp, name, given.values);
  mustNotExpand(values, owner);
  putFields(type.fields, values, env, owner);
  return { mcp_servers: { [slug]: filled(type.server, { ...namedPaths(agent.paths), ...publicValues(values) }) } };
}
