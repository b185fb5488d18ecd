import { z } from "zod";
import { objectFrom } from "../../../text/json-object.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { fillPaths, type RuntimeType } from "../../plan/runtime.js";
import program from "./report.py?raw";
import { codexHome } from "./runtime.js";

const fault = z.object({ fault: z.string() });
const orFault = <T extends z.ZodType>(answer: T) => z.union([fault, answer]).optional();
const text = z.string().nullish();

const mcpServer = z.object({
  name: z.string(),
  enabled: z.boolean(),
  status: z.string(),
  error: z.string().optional(),
  tools: z.array(z.string()),
});

const plugin = z.object({
  name: z.string(),
  marketplace: z.string(),
  installed: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
  availability: text,
});

/** Codex' report on an agent's host; a question it refused is a fault in its own words. */
const report = z.object({
  home: z.string(),
  cwd: z.object({ path: z.string(), exists: z.boolean(), readable: z.boolean(), writable: z.boolean() }),
  /** config.toml exists. */
  config: z.boolean(),
  /** The agent itself is logged in. */
  hermes: z.boolean(),
  /** When its login expired without a refresh token, in seconds since 1970. */
  hermes_expired: z.number().nullish(),
  program: z.string().optional(),
  version: z.string().optional(),
  /** Why an installed program does not run. */
  broken: z.string().optional(),
  server_fault: z.string().optional(),
  account: orFault(z.object({ kind: text, needed: z.boolean() })),
  settings: orFault(z.object({ model_provider: text })),
  plugins: orFault(z.object({ listed: z.array(plugin), errors: z.array(z.string()) })),
  /** Names of permission profiles; absent for versions that cannot list them. */
  profiles: z.array(z.string()).nullish(),
  thread: orFault(z.object({ profile: text, sandbox: text })),
  servers: orFault(z.array(mcpServer)),
  sandbox_trial: z.object({ works: z.boolean(), why: z.string() }).optional(),
  warnings: z.array(z.object({ summary: z.string(), details: z.string() })).optional(),
});

export type CodexReport = z.infer<typeof report>;
export type McpServer = z.infer<typeof mcpServer>;

export interface ProbeOptions {
  /** Start a thread, and wait so many seconds for its MCP servers. */
  thread: number | false;
  /** Use a temporary copy of CODEX_HOME, so that Codex writes nothing to the original. */
  ephemeral: boolean;
  /** Try its sandbox with a command that writes or only reads. */
  sandbox: "write" | "read" | false;
}

/** The probe, and its input. Neither contains a secret. */
export function probeCommand(
  agent: ResolvedAgent,
  type: RuntimeType,
  options: ProbeOptions,
): { words: string[]; input: string } {
  const request = {
    program: type.program,
    cwd: agent.paths.home,
    env: codexHome(agent),
    auth: fillPaths(agent, type.logins),
    provider: type.provider,
    ...options,
  };
  // The agent's own Python: the host may have none.
  return { words: [fillPaths(agent, type.callback.command), "-c", program], input: `${JSON.stringify(request)}\n` };
}

const marker = "CLM-CODEX ";

/** Undefined when the output broke off. It may have lines of other programs. */
export function parseReport(said: string): CodexReport | undefined {
  const line = said.split("\n").findLast((each) => each.startsWith(marker));
  return report.safeParse(objectFrom(line?.slice(marker.length) ?? "")).data;
}

export const faultIn = (told: object | undefined | null): string | undefined =>
  told && "fault" in told && typeof told.fault === "string" ? told.fault : undefined;

/** Why Codex rejects its config.toml, with the position in the file if an answer has it. */
export function refusalIn({ settings, thread, plugins, warnings = [] }: CodexReport): string | undefined {
  const refused = faultIn(settings) ?? faultIn(thread);
  if (refused === undefined) return undefined;
  const said = [settings, thread, plugins].flatMap((each) => faultIn(each) ?? []);
  const all = [...said, ...warnings.map(({ summary, details }) => `${summary} ${details}`)];
  return (all.find((each) => /\.toml:\d+:\d+/.test(each)) ?? refused).replace(/\s+/g, " ").trim();
}
