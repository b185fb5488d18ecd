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

/** Its logins, whether it could run, how it runs, or whether it accepts new settings. The last two start a session. */
export type ProbePurpose = "login" | "preflight" | "status" | "accept";

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

/** How an agent's settings come out in the runtime's own. */
export interface RuntimeSettings {
  permissions: string | undefined;
  notes: string[];
  /** Servers of the agent that it does not get, with the reason. */
  skipped: Record<string, string>;
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
  probe(agent: ResolvedAgent, type: RuntimeType, plan: Plan | undefined, purpose: ProbePurpose): ProbeCommand;
  /** Undefined when the output broke off. */
  parseReport(output: string): RuntimeReport | undefined;
  preflight(input: {
    resolved: ResolvedAgent;
    type: RuntimeType;
    /** The agent's files as they would be without this runtime. */
    files: readonly ManagedFile[];
    plan: Plan | undefined;
    observation: Plan["observation"];
    report: RuntimeReport;
  }): Check[];
  /** Whether the program accepted the files of the plan. */
  accepted(resolved: ResolvedAgent, plan: Plan, report: RuntimeReport): Check[];
  /** The record completed with what only the program could report. `version` is the one that will run. */
  settled(runtime: RuntimeRecord, version: string, report: RuntimeReport): RuntimeRecord;
  /** A fault when the user's own settings take precedence over these permissions. */
  mustGetPermissions(plan: Plan, permissions: string | undefined): void;
  settingsIn(plan: Plan): RuntimeSettings | undefined;
  /** Its files without the parts that clm and the agent wrote. `owned` are the recorded names by file. */
  cleaned(
    agent: ResolvedAgent,
    type: RuntimeType,
    owned: Readonly<Record<string, string[]>>,
    texts: Plan["observation"]["texts"],
  ): { files: FileChange[]; notes: string[] };
  loginState(report: RuntimeReport): LoginState;
  /** The command that logs the program in: by a person, or with an API key on stdin. */
  loginWords(agent: ResolvedAgent, type: RuntimeType, how: "person" | "api-key"): string[];
}
