import type { AgentRuntime } from "../../../agents/agent-runtime.js";
import type { Change } from "../../../agents/plan/change.js";
import { withDetails } from "../../../agents/plan/change-details.js";
import { changesIn } from "../../../agents/plan/changes-in.js";
import { orManualFix } from "../../../agents/plan/manual-fix.js";
import { mustBeOurs, type Plan, planFor, recordedServiceState } from "../../../agents/plan/plan.js";
import { mustHavePath, type ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { fillPaths, type RuntimeRecord, type RuntimeType, runtimeName } from "../../../agents/plan/runtime.js";
import type { Observation } from "../../../agents/probe/proof/observation.js";
import { agentRuntime, capability } from "../../../agents/type.js";
import { Fault } from "../../../errors.js";
import { converge } from "../../../remote/operations/converge.js";
import type { Shell } from "../../../remote/process.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { Agent } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { apiKeyOf, keyRefOf } from "../api-key.js";
import type { AgentResult } from "../apply.js";
import { type Desired, desire } from "../desire.js";
import { observe } from "../observe.js";
import { mustBeConfigured, mustBeInstalled } from "../preconditions.js";
import { mustHaveAccount } from "../prepare.js";
import { newSalt } from "../salt.js";
import { targetOf } from "../target.js";
import { probeRuntime } from "./probe.js";

export interface RuntimeTarget {
  session: Session;
  agent: Agent;
  resolved: ResolvedAgent;
  name: string;
  type: RuntimeType;
  runtime: AgentRuntime;
  root: Shell;
  observation: Observation;
  salt: string;
}

export interface SwitchResult extends AgentResult {
  title: string;
  notes: string[];
}

export interface RuntimeChoice {
  /** By default the one it is set to, or could be. */
  name?: string | undefined;
  /** By default the directory in the record. */
  home?: keyof RuntimeType["homes"] | undefined;
}

/** Observes the agent in one exec, with every file that its runtime's files could be made of. */
export async function runtimeTarget(
  session: Session,
  ref: string,
  { name: chosen, home }: RuntimeChoice = {},
): Promise<RuntimeTarget> {
  hideSecrets(session);
  const { agent, resolved } = await targetOf(session, ref);
  mustBeInstalled(agent);
  mustBeConfigured(agent);
  const name = chosen ?? runtimeName(resolved);
  const runtime = await agentRuntime(resolved.manifest, name);
  const type = resolved.manifest.runtimes[name] as RuntimeType;
  const { key } = apiKeyOf(session, keyRefOf(agent, resolved.manifest));
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const salt = newSalt();
  const record = recordFor({ resolved, type, runtime }, name, home);
  const texts = { config: mustHavePath(resolved, "config"), ...runtime.reads({ ...resolved, runtime: record }) };
  const planned = { salt, texts };
  const observation = await observe(root, resolved, key, { planned }, session.signal);
  mustHaveAccount(resolved, observation);
  mustBeOurs(resolved, observation, agent.record.mark);
  return { session, agent, resolved, name, type, runtime, root, observation, salt };
}

/** The agent's settings for a runtime, or the defaults; `kind` is its name, or `auto`. */
export const recordFor = (
  { resolved, type, runtime }: Pick<RuntimeTarget, "resolved" | "type" | "runtime">,
  kind: string,
  home?: RuntimeChoice["home"],
): RuntimeRecord => ({
  ...runtime.recordOf(resolved, type),
  kind,
  ...(home && { home: fillPaths(resolved, type.homes[home]) }),
});

/** A stopped agent cannot prove that it answers. */
export function mustNotBeStopped({ name, ref, record }: Agent): void {
  if (!record.down) return;
  throw new Fault("not-ready", `${name} is stopped, so it could not be proven that it answers; nothing was changed`, {
    next: `clm agent start ${ref}`,
  });
}

export const enableCommand = (name: string, { ref }: Agent, ...flags: string[]): string =>
  ["clm agent runtime", name, ref, ...flags].join(" ");

export const settingOf = ({ runtime, observation, type }: RuntimeTarget): string | undefined =>
  runtime.settingIn(observation.texts.config?.text ?? "", type);

export const desireFor = ({ session, agent }: RuntimeTarget, record: AgentRecord): Promise<Desired> =>
  desire(session, agent, { record });

export const planIn = ({ observation, salt }: RuntimeTarget, desired: Desired): Plan =>
  planFor(desired, observation, { salt, serviceState: recordedServiceState(desired.record) });

export const filesIn = ({ runtime }: Pick<RuntimeTarget, "runtime">, { files }: Plan) =>
  files.filter(({ file }) => runtime.fileIds.includes(file.id));

/** Changes nothing; settings files are shown line by line. */
export async function preview({ session, root }: RuntimeTarget, plan: Plan): Promise<Change[]> {
  const report = await converge(root, plan.operations, { mode: "check", signal: session.signal });
  const details = { redact: session.ui.redact, secrets: hideSecrets(session), lines: true };
  return changesIn(plan, report).map((change) => withDetails(change, plan, details));
}

export async function preflight(target: RuntimeTarget, desired: Desired, purpose: "preflight" | "status") {
  const { agent, runtime, type, observation } = target;
  const { resolved, answers } = desired;
  const planned = orManualFix(() => planIn(target, desired));
  const plan = "files" in planned ? planned : undefined;
  const command = runtime.probe(resolved, type, plan, purpose);
  const report = await probeRuntime(target, { agent, resolved }, command);
  // Rendered without the runtime: whether the provider can serve it is for the checks to say.
  const { runtime: _, ...itself } = resolved;
  const renderer = await capability(resolved.manifest, "renderer");
  const files = renderer.files(itself, answers);
  const checks = runtime.preflight({ resolved, type, files, plan, observation, report });
  return { report, checks, planned };
}
