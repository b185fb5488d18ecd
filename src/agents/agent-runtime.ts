import type { Check } from "./check.js";
import type { ManagedFile } from "./plan/managed-file.js";
import type { Plan } from "./plan/plan.js";
import type { ResolvedAgent } from "./plan/resolved-agent.js";
import type { RuntimeRecord, RuntimeType } from "./plan/runtime.js";

/** A report of the runtime's program on an agent's host. Its own functions may read more members. */
export interface RuntimeReport {
  /** The directory of its settings. */
  home: string;
  program?: string | undefined;
  version?: string | undefined;
  /** Why an installed program does not run. */
  broken?: string | undefined;
}

export interface RuntimeProbe {
  /** Ask what a check before a change needs, or what proves that the settings are accepted. */
  purpose: "inspect" | "preflight" | "accept";
  /** Also start a session, with its MCP servers. */
  session: boolean;
}

export interface ProbeCommand {
  words: string[];
  input: string;
  /** Seconds beyond the usual. */
  seconds: number;
}

/** The text of a file on the host, and the text it should have; undefined for no file. */
export interface FileChange {
  path: string;
  before: string | undefined;
  text: string | undefined;
}

export interface LoginState {
  /** How the program is logged in, in its own words; undefined when it is not. */
  program: string | undefined;
  needed: boolean;
  /** The agent itself is logged in. */
  agent: boolean;
}

/** A program that can run an agent's turns instead of the agent, with files, settings and a login of its own. */
export interface AgentRuntime {
  /** The ids of its files among an agent's managed files, and of the one that copies the agent's memory to it. */
  readonly fileIds: readonly string[];
  readonly mirrorId: string;
  readonly homeVariable: string;
  /** Ids of checks that another version of the program may answer otherwise. */
  readonly programChecks: ReadonlySet<string>;
  /** The question whether to copy the agent's memory to it. */
  readonly mirrorQuestion: string;
  /** The runtime in the record, or the defaults. */
  recordOf(agent: ResolvedAgent, type: RuntimeType): RuntimeRecord;
  /** The files to read on the host, by name: its own, and those that they are made of. */
  reads(agent: ResolvedAgent): Record<string, string>;
  settingIn(config: string, type: RuntimeType): string | undefined;
  /** The provider of the agent's model, as the agent calls it. `files` are the agent's without this runtime. */
  providerIn(files: readonly ManagedFile[]): string;
  probe(agent: ResolvedAgent, type: RuntimeType, plan: Plan | undefined, options: RuntimeProbe): ProbeCommand;
  /** Undefined when the output broke off. */
  parseReport(output: string): RuntimeReport | undefined;
  preflight(input: {
    resolved: ResolvedAgent;
    type: RuntimeType;
    provider: string;
    plan: Plan | undefined;
    observation: Plan["observation"];
    report: RuntimeReport;
  }): Check[];
  /** Whether the program accepted the files of the plan. */
  accepted(resolved: ResolvedAgent, plan: Plan, report: RuntimeReport): Check[];
  /** The record completed with what only the program could report. `version` is the one that will run. */
  settled(runtime: RuntimeRecord, version: string, report: RuntimeReport): RuntimeRecord;
  /** A fault when the user's own settings take precedence over these permissions. */
  mustGetPermissions(plan: Plan, permissions: string): void;
  permissionsIn(plan: Plan): string | undefined;
  notesIn(plan: Plan): string[];
  /** Servers of the agent that it does not get, with the reason. */
  skippedIn(plan: Plan): Record<string, string>;
  /** Its files without the parts that clm and the agent wrote. */
  cleaned(
    agent: ResolvedAgent,
    type: RuntimeType,
    owned: string[] | undefined,
    texts: Plan["observation"]["texts"],
  ): { files: FileChange[]; notes: string[] };
  loginState(report: RuntimeReport): LoginState;
  /** The command that logs the program in: by a person, or with an API key on stdin. */
  loginWords(agent: ResolvedAgent, type: RuntimeType, how: "person" | "api-key"): string[];
}
