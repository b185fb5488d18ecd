import type { StageName } from "../../../agents/manifest/manifest.js";
import type { Change } from "../../../agents/plan/change.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, agentId } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { withDown } from "../agent-record.js";
import { apply } from "../apply.js";
import { mustNotDrop } from "../foreign-variables.js";
import { mustBeInstalled, mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import { type AgentTarget, resolve } from "../target.js";
import { answersGiven, type Changes } from "./changes.js";
import { completeAnswers } from "./complete-answers.js";
import { type Flags, givenChanges } from "./flags.js";
import { type StageResult, stageResults, withStages } from "./stages.js";
import { validate } from "./validate.js";

export interface ConfigureRequest {
  flags: Flags;
  /** A YAML file with answers; flags override it. */
  file?: string | undefined;
  /** Only this stage and those that depend on it. */
  stage?: StageName | undefined;
  test: boolean;
  validate: boolean;
  skipChat: boolean;
  allowRemoval: boolean;
}

export interface ConfigureResult {
  agent: Agent;
  stages: StageResult[];
  changes: Change[];
  proofs: Proof[];
  afterwards: string[];
}

/** Everything that can be refused is refused before anything changes; run again, it resumes where it stopped. */
export const configureAgent = (session: Session, ref: string, request: ConfigureRequest): Promise<ConfigureResult> =>
  withLockedAgent(session, ref, async (locked) => {
    mustBeInstalled(locked);
    const resolved = await resolve(session, locked);
    const { manifest } = resolved;
    const given = await givenChanges(resolved, locked.record, request);
    if (request.stage === "validate") return validateOnly(session, { agent: locked, resolved }, given, request);

    const { agent, changes, desired, secrets, tests } = await completeAnswers(
      session,
      locked,
      resolved,
      given,
      request,
    );
    const record = withStages(withDown(desired.record, false), manifest.stages, session.now());
    const prepared = await prepare(session, agent, { ...desired, record }, { port: changes.port, connections: true });
    if (!request.allowRemoval) mustNotDrop(agent, prepared.plan, session.gate.dryRun ? session.ui : undefined);
    const { validate: validates, skipChat } = request;
    const applied = await apply(session, prepared, {
      verb: "agent configure",
      secrets,
      forget: forgotten(resolved, agent.record, record),
      validate: validates,
      skipChat,
      connections: true,
    });

    const { dryRun } = session.gate;
    const outcome = { was: agent.record, tests, proofs: applied.proofs, dryRun };
    return {
      agent: dryRun ? agent : { ...agent, record: applied.record },
      stages: stageResults(resolved, applied.record, outcome),
      changes: applied.changes,
      proofs: applied.proofs,
      afterwards: Object.keys(changes.channels).flatMap((channel) => manifest.channels[channel]?.afterwards ?? []),
    };
  });

/** Validate changes nothing, so answers given with it are refused. */
async function validateOnly(
  session: Session,
  target: AgentTarget,
  given: Changes,
  request: ConfigureRequest,
): Promise<ConfigureResult> {
  if (!request.validate) throw new Fault("usage", "--stage validate and --no-validate contradict each other");
  if (Object.values(answersGiven(given)).includes(true)) {
    throw new Fault("usage", "--stage validate takes no answers", {
      why: "it only proves the current state; without --stage, configure applies the answers and proves the result",
    });
  }
  const { record, proofs } = await validate(session, target, request.skipChat);
  const outcome = { was: record, tests: {}, proofs, dryRun: session.gate.dryRun };
  const stages = stageResults(target.resolved, record, outcome).filter(({ name }) => name === "validate");
  return { agent: { ...target.agent, record }, stages, changes: [], proofs, afterwards: [] };
}

/** Called after everything is printed. */
export const mustBeProven = ({ agent, proofs }: ConfigureResult): void =>
  mustHold(proofs, `${agentId(agent)} failed its proofs (state=${agent.record.onboarding.state})`);

/** Secrets of channels and servers that were removed. */
function forgotten({ manifest }: ResolvedAgent, before: AgentRecord, after: AgentRecord): string[] {
  const fieldsIn = ({ channels = {}, mcp = {} }: AgentRecord) => [
    ...manifest.settings,
    ...Object.keys(channels).flatMap((name) => manifest.channels[name]?.fields ?? []),
    ...Object.keys(mcp).flatMap((name) => manifest.mcp[name]?.fields ?? []),
  ];
  const kept = new Set(fieldsIn(after).map(({ secret }) => secret));
  return fieldsIn(before).flatMap(({ secret }) => (secret && !kept.has(secret) ? [secret] : []));
}
