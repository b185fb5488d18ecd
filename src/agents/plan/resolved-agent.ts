import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { fill } from "../files/template.js";
import { answered, publicValues, type Values } from "../manifest/fields.js";
import type { Manifest, Release } from "../manifest/manifest.js";
import { releaseOf } from "../manifest/registry.js";
import { type ChannelPort, channelPorts } from "./ports.js";

export type AgentPaths = Manifest["paths"];

/** An agent's record with its type's manifest applied. */
export interface ResolvedAgent {
  manifest: Manifest;
  version: string;
  release: Release;
  host: string;
  name: string;
  /** The shortest unambiguous reference: `name`, or `host/name`. */
  ref: string;
  user: string;
  unit: string;
  port: number;
  /** The ports of its channels. */
  listens?: ChannelPort[];
  relaxed: boolean;
  /** Adopted: not installed by clm. */
  adopted: boolean;
  proxy?: { provider: string; port: number };
  channels: string[];
  servers: string[];
  /** The program that runs its turns, if not the agent itself. */
  runtime?: NonNullable<AgentRecord["runtime"]>;
  paths: AgentPaths;
  /** The type's settings, with defaults and without secrets. */
  settings: Record<string, string>;
  /** The protocol on its port. */
  serves: "http" | "tcp" | "none";
}

/** A model with the provider that serves it, ready to render. */
export interface ModelChoice {
  /** The provider's name in providers.json. */
  provider: string;
  /** Its type in the manifest. */
  type: string;
  values: Values;
  model: string;
}

/** All answers about an agent, with its secrets. */
export interface Answers {
  /** Empty for a type whose API has no key. */
  apiKey: Secret;
  /** Missing for a type without model providers. */
  model?: ModelChoice;
  fallbacks: ModelChoice[];
  /** By task. */
  auxiliary: Record<string, ModelChoice>;
  channels: Record<string, Values>;
  /** By server: answers for a server of the manifest, or a custom server as in config.yaml. */
  mcp: Record<string, { values: Values; server?: Record<string, unknown> }>;
  /** The user's own variables: `clm agent secret set`. */
  extra: Record<string, Secret>;
  /** Secret settings of its type. */
  settings: Values;
  /** The files that a setting names. */
  uploads: UploadedFile[];
}

export interface UploadedFile {
  /** Relative to the directory where the type puts such files. */
  name: string;
  content: Buffer;
  executable: boolean;
}

export function resolvedAgent(manifest: Manifest, { name, ref, host, record }: Agent): ResolvedAgent {
  const settings = publicValues(answered(manifest.settings, record.settings ?? {}));
  const check = fill(manifest.api.check, settings);
  return {
    manifest,
    version: record.version,
    release: releaseOf(manifest, record.version),
    host: host.name,
    name,
    ref,
    user: record.user,
    unit: record.unit,
    port: record.port,
    listens: channelPorts(manifest, record),
    relaxed: record.relaxed ?? false,
    adopted: record.mark === undefined,
    channels: Object.keys(record.channels ?? {}),
    servers: Object.keys(record.mcp ?? {}),
    ...(record.proxy && { proxy: record.proxy }),
    ...(record.runtime && { runtime: record.runtime }),
    paths: pathsFor(manifest, record.user, record.home),
    settings,
    serves: check === "http" || check === "tcp" ? check : "none",
  };
}

export function namedPaths({ path: _, ...paths }: AgentPaths): Record<string, string> {
  return Object.fromEntries(Object.entries(paths).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Milliseconds until it must listen. */
export const startTimeout = ({ manifest: { api }, servers }: ResolvedAgent): number =>
  api.timeout.start + api.timeout.per_server * servers.length;

/** A path that the type's code requires. */
export function mustHavePath({ manifest, paths }: ResolvedAgent, name: "config" | "memories"): string {
  const path = paths[name];
  if (path !== undefined) return path;
  throw new Fault("bad-input", `the manifest of ${manifest.type} has no paths.${name}`);
}

/** An adopted agent may have another home. */
export function pathsFor({ type, paths }: Manifest, user: string, home?: string): AgentPaths {
  const known: Record<string, string> = { user };
  const fillPath = (name: string, template: string): string => {
    const path = name === "home" && home !== undefined ? home : fill(template, known);
    // A path may only use earlier ones.
    if (path === undefined) throw new Fault("bad-input", `the manifest of ${type} uses a later path in paths.${name}`);
    known[name] = path;
    return path;
  };
  const named = Object.entries(namedPaths(paths)).map(([name, template]) => [name, fillPath(name, template)]);
  const path = paths.path.map((each, index) => fillPath(`path.${index}`, each));
  return { ...Object.fromEntries(named), path } as AgentPaths;
}

type NewAgent = { name: string; mark: string; relaxed: boolean } & Pick<AgentRecord, "version" | "port">;

export function newRecord(manifest: Manifest, { name, version, port, mark, relaxed }: NewAgent): AgentRecord {
  const unit = fill(manifest.unit.name, { name });
  if (unit === undefined)
    throw new Fault("bug", `the manifest of ${manifest.type} uses more than {{name}} in unit.name`);
  const first = manifest.stages.find(({ skipped }) => skipped === undefined);
  return {
    type: manifest.type,
    version,
    status: "installing",
    mark,
    user: name,
    home: pathsFor(manifest, name).home,
    unit,
    port,
    ...(relaxed && { relaxed }),
    onboarding: { state: first?.name ?? "validate", stages: {} },
  };
}
