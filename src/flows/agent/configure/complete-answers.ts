import type { Check } from "../../../agents/check.js";
import { checkAnswer } from "../../../agents/manifest/fields.js";
import type { StageName } from "../../../agents/manifest/manifest.js";
import type { Secret } from "../../../secret.js";
import { type AgentRecord, providersOf } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import { type SecretSource, secretFrom } from "../../secret-source.js";
import type { Session } from "../../session.js";
import { changeRecord } from "../agent-record.js";
import type { NewSecrets } from "../answers.js";
import { type Desired, desire } from "../desire.js";
import type { AgentTarget } from "../target.js";
import { type Changes, type Draft, draftOf, flagName, withPartName } from "./changes.js";
import { stagesTo, withProvider } from "./stages.js";
import { testAnswers } from "./tests.js";
import { interview } from "./wizard.js";

export interface CompleteAnswers {
  /** With the provider recorded, if it was just chosen at a prompt. */
  agent: Agent;
  changes: Changes;
  desired: Desired;
  secrets: NewSecrets;
  tests: Record<string, Check>;
}

/** Completes the answers of flags and a file at prompts, fetches secrets, tests and renders. */
export async function completeAnswers(
  session: Session,
  { agent, resolved }: AgentTarget,
  given: Changes,
  request: { stage?: StageName | undefined; test: boolean },
): Promise<CompleteAnswers> {
  // Check the given answers before prompting for the rest.
  draftOf(resolved, session.providers.read(), agent.record, given);
  const stages = stagesTo(resolved.manifest, agent.record, given, request.stage);
  const fetch = secretFetcher(session);

  const complete = async (current: Agent, which: ReturnType<typeof stagesTo>): Promise<CompleteAnswers> => {
    const { record } = current;
    const changes = await interview(session, given, { resolved, record, stages: which, named: request.stage });
    const draft = draftOf(resolved, session.providers.read(), record, changes);
    const secrets = await fetch(draft);
    const desired = await desire(session, current, { record: draft.record, secrets });
    const isProven = request.stage === undefined && isUpToDate(record, desired.digest);
    const isStale =
      desired.digest !== record.rendered?.digest && hasNewerProvider(session, record.rendered?.at, draft.record);
    const about = { changes, stages: { ...which, providers: (which.providers && !isProven) || isStale } };
    const tests = request.test ? await testAnswers(session, current, desired, about) : {};
    return { agent: current, changes, desired, secrets, tests };
  };

  const asksBoth = stages.providers && stages.channels && session.ui.interactive && !session.gate.dryRun;
  if (!asksBoth) return complete(agent, stages);
  // Record the provider first: after Ctrl-C at a channel prompt it need not be chosen again.
  const first = await complete(agent, { providers: true, identity: false, channels: false });
  const kept = await keepProvider(session, agent, first.desired.record);
  const rest = await complete(kept, { ...stages, providers: false });
  return { ...rest, tests: { ...first.tests, ...rest.tests } };
}

/** The agent was fully proven with these answers, including chat: there is nothing to test. */
const isUpToDate = ({ proven, failed, onboarding }: AgentRecord, digest: string): boolean =>
  onboarding.state === "ready" && proven?.chat === true && proven.digest === digest && !failed;

/** A provider changed after the host got its settings, so earlier tests do not count. */
function hasNewerProvider({ providers }: Session, renderedAt: string | undefined, draft: AgentRecord): boolean {
  const known = providers.read().providers;
  return providersOf(draft).some((name) => renderedAt && (known[name]?.updated_at ?? "") > renderedAt);
}

async function keepProvider(session: Session, agent: Agent, draft: AgentRecord): Promise<Agent> {
  const summary = `record the provider of ${agent.name}`;
  const record = await session.gate.pass({ verb: "agent configure", target: hostAndName(agent), summary }, () =>
    changeRecord(session, agent, (now) => withProvider(now, draft, session.now())),
  );
  return record ? { ...agent, record } : agent;
}

/** Fetches the secrets of a draft, by name in secrets.json. Each source is read once. */
function secretFetcher(session: Session): (draft: Draft) => Promise<NewSecrets> {
  const known = new Map<SecretSource, Secret>();
  return async ({ secrets }) => {
    const found: NewSecrets = {};
    for (const { part, field, source } of secrets) {
      const title = flagName(part, field.name);
      const asking = { what: title, flag: `--secret ${title}=env:VARIABLE` };
      const secret = known.get(source) ?? (await secretFrom(session, source, asking));
      known.set(source, secret);
      withPartName(part, () => checkAnswer(field, secret.reveal()));
      if (field.secret) found[field.secret] = secret;
    }
    return found;
  };
}
