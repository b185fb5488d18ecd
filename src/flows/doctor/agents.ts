import { type Check, fail, ok, skipped, type Verdict } from "../../agents/check.js";
import { examine } from "../../agents/doctor/examine.js";
import { type Clock, clockFrom, type Symptoms, symptomsFrom, symptomsScript } from "../../agents/doctor/symptoms.js";
import { loadType } from "../../agents/manifest/registry.js";
import { type Change, fileId } from "../../agents/plan/change.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { atMost } from "../../async/limit.js";
import { asFault, type Fault, isFault } from "../../errors.js";
import { askHostPartially } from "../../remote/ask-host.js";
import { ownedNames } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { type AgentStatus, saveStatuses, unanswered } from "../fleet/agent-status.js";
import { byHost, rootOn } from "../fleet/host.js";
import { probeAgentsOn } from "../fleet/probe-agents.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type Finding, failedBy } from "./finding.js";
import { checkRecorded } from "./recorded.js";

const timeout = 30_000;

/** Examines agents, all hosts in parallel: one connection, one shell and two scripts per host. */
export async function examineAgents(session: Session, agents: readonly Agent[], parallel: number): Promise<Finding[]> {
  try {
    hideSecrets(session);
  } catch (error) {
    // Without the secrets nothing can be redacted, and no key tried.
    return agents.map((agent) => ({ about: { agent }, checks: [{ id: "secrets", ...failedBy(asFault(error)) }] }));
  }
  const perHost = atMost(parallel, byHost(agents), ({ agents: those }) => examineHost(session, those));
  const findings = (await Promise.all(perHost)).flat();
  return agents.flatMap((agent) => findings.find(({ about }) => "agent" in about && about.agent === agent) ?? []);
}

async function examineHost(session: Session, agents: readonly Agent[]): Promise<Finding[]> {
  const found = await probeAgentsOn(session, agents, { drift: true });
  saveStatuses(session, found);
  const symptoms = await askSymptoms(session, found);
  return Promise.all(
    found.map(async (each) => ({ about: { agent: each.agent }, checks: await checksOf(session, each, symptoms) })),
  );
}

interface HostSymptoms {
  symptomsOf: (agent: ResolvedAgent) => Symptoms | undefined;
  clock?: Clock | undefined;
  fault?: Fault | undefined;
}

async function askSymptoms(session: Session, found: readonly AgentStatus[]): Promise<HostSymptoms> {
  const agents = found.flatMap(({ resolved }) => resolved ?? []);
  const host = found[0]?.agent.host;
  if (!host || agents.length === 0) return { symptomsOf: () => undefined };
  try {
    const root = await rootOn(session, host);
    const asked = session.now().getTime();
    let answered: number | undefined;
    const { text, fault } = await askHostPartially(root, symptomsScript(agents), {
      host: host.name,
      what: "the history of its agents",
      timeout,
      signal: session.signal,
      onData() {
        answered ??= session.now().getTime();
      },
    });
    const symptoms = symptomsFrom(text, agents.length).map((each) => each && withoutSecrets(session, each));
    const clock = clockFrom(text, asked, answered ?? asked);
    return { symptomsOf: (agent) => symptoms[agents.indexOf(agent)], clock, fault };
  } catch (error) {
    session.signal.throwIfAborted();
    if (!isFault(error)) throw error;
    return { symptomsOf: () => undefined, fault: error };
  }
}

const withoutSecrets = ({ ui }: Session, symptoms: Symptoms): Symptoms => ({
  ...symptoms,
  words: symptoms.words.map((word) => ({ ...word, text: ui.redact(word.text) })),
});

async function checksOf(
  session: Session,
  found: AgentStatus,
  { symptomsOf, clock, fault }: HostSymptoms,
): Promise<Check[]> {
  const { agent, observation, resolved, wanted, key } = found;
  const symptoms = resolved && symptomsOf(resolved);
  const { record } = agent;
  const manifest = resolved?.manifest ?? (await loadType(session.configDir, record.type)).manifest;
  const recorded = checkRecorded(session, manifest, agent);
  const trouble = found.fault ?? (symptoms ? undefined : fault);
  if (trouble || !observation || !resolved || !symptoms)
    return [{ id: "host", ...(trouble ? failedBy(trouble) : brokenOff(agent)) }, ...recorded];
  const here: Check = { id: "host", ...ok(`${agent.host.name} answers`) };
  // A half-installed or half-removed agent cannot be examined further.
  if (record.status !== "installed") return [here, ...recorded];
  const proven = record.proven && { at: Date.parse(record.proven.at), chat: record.proven.chat };
  const seen = examine({
    resolved,
    observation,
    symptoms,
    clock,
    wanted,
    key,
    proven,
    now: session.now().getTime(),
    unanswered: unanswered(session, agent),
  });
  return [here, ...recorded, ...seen, { id: "drift", ...judgeDrift(found) }];
}

const brokenOff = ({ host }: Agent): Verdict =>
  fail(`${host.name} broke off in the middle of its answer`, `clm host check ${host.name}`);

/** Whether a sync would remove variables of `.env` or unit overrides that clm did not write. */
function removesForeign({ record }: Agent, { [fileId]: file, differences }: Change): boolean {
  const ours = new Set(ownedNames(record).env);
  return differences.some(
    (each) =>
      each.kind === "override" ||
      (each.kind === "entry" && file === "env" && each.sign === "-" && !ours.has(each.name)),
  );
}

function judgeDrift({ agent, drift }: AgentStatus): Verdict {
  if (!drift) return skipped("not checked");
  if ("unknown" in drift) return { ...failedBy(drift.fault), result: "warn" };
  if (drift.changes.length > 0) {
    const reason = drift.changes
      .map(({ what, differences }) => `${what} (${differences.map(({ text }) => text).join(", ")})`)
      .join("; ");
    // Content that clm did not write exists nowhere else: removing it is a person's decision.
    const isManual = drift.changes.some((change) => removesForeign(agent, change));
    const fix = `clm agent ${isManual ? "diff" : "sync"} ${agent.ref}`;
    return { ...fail(`not as configured: ${reason}`, fix), ...(!isManual && { cause: "sync-fixes" }) };
  }
  const [lost] = drift.lost;
  return lost ? fail(`${lost.what}: ${lost.reason}`, lost.fix) : ok("no configuration drift");
}
