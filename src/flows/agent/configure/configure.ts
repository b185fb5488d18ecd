import type { StageName } from "../../../agents/manifest/manifest.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { AgentRecord } from "../../../state/agent.js";
import { agentId } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { withDown } from "../agent-record.js";
import { type AgentResult, apply } from "../apply.js";
import { mustBeInstalled, mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import { resolve } from "../target.js";
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

export interface ConfigureResult extends AgentResult {
  stages: StageResult[];
  afterwards: string[];
}

/** Everything that can be refused is refused before anything changes; run again, it resumes where it stopped. */
export const configureAgent = (session: Session, ref: string, request: ConfigureRequest): Promise<ConfigureResult> =>
  withLockedAgent(session, ref, async (locked) => {
    mustBeInstalled(locked);
    const resolved = await resolve(session, locked);
    const { manifest } = resolved;
    const target = { agent: locked, resolved };
    const given = await givenChanges(target, request);
    if (request.stage === "validate") return validate(session, target, given, request);

    const { agent, changes, desired, secrets, tests } = await completeAnswers(session, target, given, request);
    const record = withStages(withDown(desired.record, false), manifest.stages, session.now());
    const options = { port: changes.port, connections: true, keepForeign: !request.allowRemoval };
    const prepared = await prepare(session, agent, { ...desired, record }, options);
    const applied = await apply(session, prepared, {
      verb: "agent configure",
      secrets,
      forget: forgotten(resolved, agent.record, record),
      validate: request.validate,
      skipChat: request.skipChat,
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
