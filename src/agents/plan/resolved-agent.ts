import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { fill } from "../files/template.js";
import { answered, publicValues, type Values } from "../manifest/fields.js";
import type { Manifest, Release } from "../manifest/manifest.js";
import { releaseOf } from "../manifest/registry.js";
import { type ChannelPort, channelPorts } from "./ports.js";

/** The places of an agent on its host, filled in. */
export type AgentPaths = Manifest["paths"];

/** The agent a rendering or a wish is about. */
export interface ResolvedAgent {
  manifest: Manifest;
  version: string;
  release: Release;
  /** The host's name. */
  host: string;
  name: string;
  /** How it is typed: `name`, or `host/name`. */
  ref: string;
  user: string;
  unit: string;
  port: number;
  /** Where its channels listen, of one that has such channels. */
  listens?: ChannelPort[];
  relaxed: boolean;
  /** It was taken over, not made by clm. */
  adopted: boolean;
  /** What its proxy is to serve, and where, when it is to have one. */
  proxy?: { provider: string; port: number };
  /** The names of the channels and MCP servers it was configured to have. */
  channels: string[];
  servers: string[];
  /** Who runs its turns, when that was said. */
  runtime?: NonNullable<AgentRecord["runtime"]>;
  paths: AgentPaths;
  /** Answers to its type's settings, with their defaults; secrets are not among them. */
  settings: Record<string, string>;
  /** What it serves on its port, by its manifest and settings. */
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

/** Everything that was answered about an agent, with its secrets at hand. */
export interface Answers {
  /** Empty for a type whose API has no key. */
  apiKey: Secret;
  /** Missing for a type without model providers. */
  model?: ModelChoice;
  fallbacks: ModelChoice[];
  /** By task. */
  auxiliary: Record<string, ModelChoice>;
  /** By channel. */
  channels: Record<string, Values>;
  /** By server: answers for one the manifest knows, or the server itself as config.yaml wants it. */
  mcp: Record<string, { values: Values; server?: Record<string, unknown> }>;
  /** Variables of the user's own: `clm agent secret set`. */
  extra: Record<string, Secret>;
  /** Secrets among the answers to its type's settings. */
  settings: Values;
  /** Contents of the files that a setting names. */
  uploads: UploadedFile[];
}

/** A file of the user's that goes to the host. */
export interface UploadedFile {
  /** Relative to where the type puts such files. */
  name: string;
  content: Buffer;
  executable: boolean;
}

/** The agent as it is recorded, with everything its manifest says about it filled in. */
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

/** Paths by name, for templates. */
export function namedPaths({ path: _, ...paths }: AgentPaths): Record<string, string> {
  return Object.fromEntries(Object.entries(paths).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A path that the type's code cannot do without. */
export function mustHavePath({ manifest, paths }: ResolvedAgent, name: "config" | "memories"): string {
  const path = paths[name];
  if (path !== undefined) return path;
  throw new Fault("bad-input", `the manifest of ${manifest.type} has no paths.${name}`);
}

/** Where everything of an agent is on its host. An agent that was taken over may have another home. */
export function pathsFor({ type, paths }: Manifest, user: string, home?: string): AgentPaths {
  const known: Record<string, string> = { user };
  const place = (name: string, template: string): string => {
    const path = name === "home" && home !== undefined ? home : fill(template, known);
    // A place may only build on the ones before it.
    if (path === undefined) throw new Fault("bad-input", `the manifest of ${type} builds paths.${name} on a later one`);
    known[name] = path;
    return path;
  };
  return {
    home: place("home", paths.home),
    data: place("data", paths.data),
    code: place("code", paths.code),
    env: place("env", paths.env),
    ...(paths.config !== undefined && { config: place("config", paths.config) }),
    ...(paths.memories !== undefined && { memories: place("memories", paths.memories) }),
    launcher: place("launcher", paths.launcher),
    path: paths.path.map((each, index) => place(`path.${index}`, each)),
  };
}
