import { z } from "zod";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { fillPaths } from "../../plan/runtime.js";
import program from "./report.py?raw";
import { type CodexType, codexHome } from "./runtime.js";

const fault = z.object({ fault: z.string() });
const text = z.string().nullish();

/** What Codex says of itself on an agent's host; what it refused to tell is a fault in its own words. */
const report = z.object({
  home: z.string(),
  cwd: z.object({ path: z.string(), there: z.boolean(), readable: z.boolean(), writable: z.boolean() }),
  /** There is a config.toml. */
  config: z.boolean().default(true),
  /** The agent itself has a login there. */
  hermes: z.boolean(),
  /** It had one that ended then, in seconds since 1970, and has nothing to renew it with. */
  hermes_expired: z.number().nullish(),
  program: z.string().optional(),
  version: z.string().optional(),
  /** It is there, and does not run. */
  broken: z.string().optional(),
  server_fault: z.string().optional(),
  account: z.union([fault, z.object({ kind: text, needed: z.boolean() })]).optional(),
  settings: z
    .union([
      fault,
      z.object({
        permissions: text,
        model: text,
        model_provider: text,
        servers: z.record(z.string(), z.boolean()),
        plugins: z.record(z.string(), z.boolean()),
      }),
    ])
    .optional(),
  plugins: z
    .union([
      fault,
      z.object({
        listed: z.array(
          z.object({
            name: z.string(),
            marketplace: z.string(),
            installed: z.boolean().nullish(),
            enabled: z.boolean().nullish(),
            availability: text,
          }),
        ),
        errors: z.array(z.string()),
      }),
    ])
    .optional(),
  /** Names of permission profiles; nothing of a Codex that has no list of them. */
  profiles: z.array(z.string()).nullish(),
  thread: z
    .union([
      fault,
      z.object({
        profile: text,
        sandbox: text,
        network: z.unknown(),
        approval: z.unknown(),
        model: text,
        provider: text,
      }),
    ])
    .optional(),
  servers: z
    .union([
      fault,
      z.array(
        z.object({
          name: z.string(),
          enabled: z.boolean(),
          status: z.string(),
          error: z.string().optional(),
          tools: z.array(z.string()),
        }),
      ),
    ])
    .optional(),
  sandbox_trial: z.object({ works: z.boolean(), why: z.string() }).optional(),
  warnings: z.array(z.object({ summary: z.string(), details: z.string() })).optional(),
});

export type CodexReport = z.infer<typeof report>;

export interface ProbeOptions {
  /** Ask its server. */
  server: boolean;
  /** Begin a thread, and wait so many seconds for its MCP servers. */
  thread: number | false;
  /** Nothing may be left there, not even what Codex writes for itself. */
  still: boolean;
  /** Try its sandbox, with a command that writes or one that does not. */
  sandbox: "write" | "read" | false;
}

/** What a host runs, and tells it, to look at Codex as an agent's service would see it. Nothing of it is secret. */
export function probeCommand(
  agent: ResolvedAgent,
  type: CodexType,
  options: ProbeOptions,
): { words: string[]; input: string } {
  const { paths } = agent;
  const asked = {
    program: type.program,
    cwd: paths.home,
    env: codexHome(agent),
    auth: fillPaths(agent, type.logins),
    provider: type.provider,
    ...options,
  };
  // The agent has a Python of its own; the host may have none.
  return { words: [fillPaths(agent, type.callback.command), "-c", program], input: `${JSON.stringify(asked)}\n` };
}

const mark = "CLM-CODEX ";

/** What it said; nothing when it broke off. Whatever else is run there may have written beside it. */
export function parseReport(said: string): CodexReport | undefined {
  const line = said.split("\n").findLast((each) => each.startsWith(mark));
  if (line === undefined) return undefined;
  try {
    return report.parse(JSON.parse(line.slice(mark.length)));
  } catch {
    return undefined;
  }
}

export const faultIn = (told: object | undefined | null): string | undefined =>
  told && "fault" in told && typeof told.fault === "string" ? told.fault : undefined;

/** Why Codex does not take its config.toml, with the place in the file where one of its answers has it. */
export function refusalIn({ settings, thread, plugins, warnings = [] }: CodexReport): string | undefined {
  const refused = faultIn(settings) ?? faultIn(thread);
  if (refused === undefined) return undefined;
  const said = [settings, thread, plugins].flatMap((each) => faultIn(each) ?? []);
  const all = [...said, ...warnings.map(({ summary, details }) => `${summary} ${details}`)];
  return (all.find((each) => /\.toml:\d+:\d+/.test(each)) ?? refused).replace(/\s+/g, " ").trim();
}
