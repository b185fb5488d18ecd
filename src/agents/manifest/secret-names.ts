import type { Manifest } from "./manifest.js";

/** The use of a name among an agent's secrets or in its `.env`. */
export type Use =
  /** clm sets it itself, as the key of the API. */
  | { kind: "own" }
  /** A field of this channel or MCP server, or a variable that a provider of this type would set. */
  | { kind: "channel" | "mcp" | "provider"; of: string }
  /** The user's own variable, written to `.env` unchanged. */
  | { kind: "extra" };

export function useOf(manifest: Manifest, name: string): Use {
  const { render, reserved, channels, mcp, providers } = manifest;
  const own = render.some(({ env }) => Object.hasOwn(env, name)) || reserved.some((each) => matches(each, name));
  if (own) return { kind: "own" };
  const asks = ({ fields }: { fields: { env?: string | undefined; secret?: string | undefined }[] }) =>
    fields.some(({ env, secret }) => env === name || secret === name);
  const channel = Object.entries(channels).find(([, type]) => asks(type) || Object.hasOwn(type.env, name));
  if (channel) return { kind: "channel", of: channel[0] };
  const server = Object.entries(mcp).find(([, type]) => asks(type));
  if (server) return { kind: "mcp", of: server[0] };
  const provider = Object.entries(providers).find(([, type]) =>
    type.render.some(({ env }) => Object.hasOwn(env, name)),
  );
  return provider ? { kind: "provider", of: provider[0] } : { kind: "extra" };
}

/** Whether the agent removes the variable from the environment of the commands it runs. */
export const isStripped = (manifest: Manifest, name: string): boolean =>
  manifest.stripped.some((each) => matches(each, name));

export const extraNames = (manifest: Manifest, names: string[]): string[] =>
  names.filter((name) => ["extra", "provider"].includes(useOf(manifest, name).kind));

const matches = (pattern: string, name: string): boolean => new RegExp(`^(?:${pattern})$`, "u").test(name);
