import type { Check } from "../../agents/check.js";
import { checkAnswer } from "../../agents/manifest/fields.js";
import type { StageName } from "../../agents/manifest/manifest.js";
import { loadType } from "../../agents/manifest/registry.js";
import type { Change } from "../../agents/plan/change.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import type { Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { type AgentRecord, providersOf } from "../../state/agent.js";
import { type Agent, agentId, findAgent, recordAgent } from "../../state/agents.js";
import { type SecretSource, secretFrom } from "../secret-source.js";
import type { Session } from "../session.js";
import { withAgentLock } from "./agent-lock.js";
import type { NewSecrets } from "./answers.js";
import { apply } from "./apply.js";
import { answersGiven, type Changes, type Draft, draftOf, named } from "./configure/changes.js";
import { mustNotDrop } from "./configure/objections.js";
import { withDown } from "./configure/record.js";
import { type StageResult, stageResults, stagesTo, withProvider, withStages } from "./configure/stages.js";
import { testAnswers } from "./configure/tests.js";
import { validate } from "./configure/validate.js";
import { interview } from "./configure/wizard.js";
import { type Desired, desire } from "./desire.js";
import { mustBeInstalled, mustHold } from "./preconditions.js";
import { prepare } from "./prepare.js";

export type { StageResult } from "./configure/stages.js";

export interface ConfigureRequest {
  /** Made from flags and a file, once the agent's manifest is known. */
  changes: (resolved: ResolvedAgent, record: AgentRecord) => Promise<Changes>;
  /** Only this stage, and what follows from it. */
  stage?: StageName | undefined;
  /** Ask providers and channels whether what was answered is right. */
  test: boolean;
  validate: boolean;
  skipChat: boolean;
  allowRemoval: boolean;
}

export interface Configured {
  /** As it is now. */
  agent: Agent;
  stages: StageResult[];
  changes: Change[];
  proofs: Proof[];
  /** What is left for a person to do. */
  afterwards: string[];
}

/**
 * Configure: an agent's provider, channels and files are as was answered, it runs with them, and that is proven. All that
 * can be refused is refused before anything changes; run again, it goes on from where it was.
 */
export async function configure(session: Session, word: string, request: ConfigureRequest): Promise<Configured> {
  const { host, name } = findAgent(session.hosts.read(), word);
  return withAgentLock(session, { host: host.name, name }, async () => {
    let agent = findAgent(session.hosts.read(), `${host.name}/${name}`);
    mustBeInstalled(agent);
    const { manifest } = await loadType(session.configDir, agent.record.type);
    const resolved = resolvedAgent(manifest, agent);
    const asked = await request.changes(resolved, agent.record);
    if (request.stage === "validate") {
      mustSayNothing(asked, request);
      return validated(session, agent, request);
    }

    // What was said is looked at before anybody is asked for the rest.
    draftOf(resolved, session.providers.read(), agent.record, asked);
    const stages = stagesTo(manifest, agent.record, asked, request.stage);
    const fetched = fetcher(session);
    const answer = async (which: Stages): Promise<Answered> => {
      const questions = { resolved, record: agent.record, stages: which, named: request.stage };
      const changes = await interview(session, asked, questions);
      const draft = draftOf(resolved, session.providers.read(), agent.record, changes);
      const secrets = await fetched(draft);
      const desired = await desire(session, agent, { record: draft.record, secrets });
      const { digest, answers } = desired;
      const known = request.stage === undefined && holds(agent.record, digest);
      const stale = digest !== agent.record.rendered?.digest && updatedSince(session, agent.record, draft.record);
      const about = { changes, stages: { ...which, providers: (which.providers && !known) || stale } };
      const tests = request.test ? await testAnswers(session, agent, desired.resolved, answers, about) : {};
      return { changes, desired, secrets, tests };
    };
    // A person who leaves at a question about channels need not choose the provider again.
    let before: Answered["tests"] = {};
    if (stages.providers && stages.channels && session.ui.interactive && !session.gate.dryRun) {
      const { desired, tests } = await answer({ providers: true, identity: false, channels: false });
      const { provider, model, fallbacks, auxiliary } = desired.record;
      agent = await keepProvider(session, agent, { provider, model, fallbacks, auxiliary });
      stages.providers = false;
      before = tests;
    }
    const { changes, desired, secrets, tests } = await answer(stages);

    const record = withStages(withDown(desired.record, false), manifest.stages, session.now());
    const options = { port: changes.port, connections: true };
    const prepared = await prepare(session, agent, { ...desired, record }, options);
    if (!request.allowRemoval) mustNotDrop(agent, prepared.plan, session.gate.dryRun ? session.ui : undefined);
    const applied = await apply(session, prepared, {
      verb: "agent configure",
      secrets,
      forget: forgotten(resolved, agent.record, record),
      validate: request.validate,
      skipChat: request.skipChat,
      connections: true,
    });
    const afterwards = Object.keys(changes.channels).flatMap((channel) => manifest.channels[channel]?.afterwards ?? []);
    return {
      agent: session.gate.dryRun ? agent : { ...agent, record: applied.record },
      stages: stageResults(resolved, applied.record, {
        was: agent.record,
        tests: { ...before, ...tests },
        proofs: applied.proofs,
        dryRun: session.gate.dryRun,
      }),
      changes: applied.changes,
      proofs: applied.proofs,
      afterwards,
    };
  });
}

/** The agent was proven with just these answers, and the model's was one of the proofs: there is nothing to test. */
const holds = ({ proven, failed, onboarding }: AgentRecord, digest: string): boolean =>
  onboarding.state === "ready" && proven?.chat === true && proven.digest === digest && !failed;

/** A provider became another since the host was told of it: what was tested then says nothing now. */
function updatedSince({ providers }: Session, { rendered }: AgentRecord, draft: AgentRecord): boolean {
  const known = providers.read().providers;
  return providersOf(draft).some((name) => rendered && (known[name]?.updated_at ?? "") > rendered.at);
}

/** Validate proves what is there: an answer given with it would be lost. */
function mustSayNothing(asked: Changes, { validate }: ConfigureRequest): void {
  if (!validate) throw new Fault("usage", "--stage validate and --no-validate contradict each other");
  if (!Object.values(answersGiven(asked)).includes(true)) return;
  throw new Fault("usage", "--stage validate takes no answers", {
    why: "it proves what is there and changes nothing; without --stage it is proven after the change",
  });
}

type Stages = ReturnType<typeof stagesTo>;

interface Answered {
  changes: Changes;
  desired: Desired;
  secrets: NewSecrets;
  tests: Record<string, Check>;
}

type ProviderAnswers = Pick<AgentRecord, "provider" | "model" | "fallbacks" | "auxiliary">;

async function keepProvider(session: Session, agent: Agent, answers: ProviderAnswers): Promise<Agent> {
  const at = { host: agent.host.name, name: agent.name };
  const action = {
    verb: "agent configure",
    target: `${at.host}/${at.name}`,
    summary: `record the provider of ${at.name}`,
  };
  const record = await session.gate.pass(action, () =>
    recordAgent(session.hosts, at, (now) => now && withProvider(now, answers, session.now())),
  );
  return record ? { ...agent, record } : agent;
}

async function validated(session: Session, agent: Agent, { skipChat }: ConfigureRequest): Promise<Configured> {
  const { record, proofs, resolved } = await validate(session, agent, { skipChat });
  return {
    agent: { ...agent, record },
    stages: stageResults(resolved, record, { was: record, tests: {}, proofs, dryRun: session.gate.dryRun }).filter(
      ({ name }) => name === "validate",
    ),
    changes: [],
    proofs,
    afterwards: [],
  };
}

/** For when all of it was told: what was to be proven was. */
export const mustBeProven = ({ agent, proofs }: Configured): void =>
  mustHold(proofs, `${agentId(agent)} does not answer as it should (state=${agent.record.onboarding.state})`);

/** Gives the secrets that were named, by the names they have in secrets.json. A source is asked once, however often it is named. */
function fetcher(session: Session): (draft: Draft) => Promise<NewSecrets> {
  const known = new Map<SecretSource, Secret>();
  return async ({ secrets }) => {
    const found: NewSecrets = {};
    for (const { field, title, source } of secrets) {
      const asking = { what: title, flag: `--secret ${title}=env:VARIABLE` };
      const secret = known.get(source) ?? (await secretFrom(session, source, asking));
      known.set(source, secret);
      named(title.split(".")[0] ?? title, () => checkAnswer(field, secret.reveal()));
      if (field.secret) found[field.secret] = secret;
    }
    return found;
  };
}

/** Secrets of channels and servers that are no more. */
function forgotten({ manifest }: ResolvedAgent, before: AgentRecord, after: AgentRecord): string[] {
  const namesIn = ({ channels = {}, mcp = {} }: AgentRecord) => [
    ...manifest.settings,
    ...Object.keys(channels).flatMap((name) => manifest.channels[name]?.fields ?? []),
    ...Object.keys(mcp).flatMap((name) => manifest.mcp[name]?.fields ?? []),
  ];
  const kept = new Set(namesIn(after).map(({ secret }) => secret));
  return namesIn(before).flatMap(({ secret }) => (secret && !kept.has(secret) ? [secret] : []));
}
