import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { fill } from "../files/template.js";
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
}

/** Answers to fields; what is secret is a Secret. */
export type Values = Record<string, string | Secret>;

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
  apiKey: Secret;
  model: ModelChoice;
  fallbacks: ModelChoice[];
  /** By task. */
  auxiliary: Record<string, ModelChoice>;
  /** By channel. */
  channels: Record<string, Values>;
  /** By server: answers for one the manifest knows, or the server itself as config.yaml wants it. */
  mcp: Record<string, { values: Values; server?: Record<string, unknown> }>;
  /** Variables of the user's own: `clm agent secret set`. */
  extra: Record<string, Secret>;
}

/** The agent as it is recorded, with everything its manifest says about it filled in. */
export function resolvedAgent(manifest: Manifest, { name, ref, host, record }: Agent): ResolvedAgent {
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
  };
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
    config: place("config", paths.config),
    memories: place("memories", paths.memories),
    launcher: place("launcher", paths.launcher),
    path: paths.path.map((each, index) => place(`path.${index}`, each)),
  };
}
