import { isDeepStrictEqual } from "node:util";
import { type Change, fileId } from "../../agents/plan/change.js";
import { unwantedFiles } from "../../agents/plan/managed-file.js";
import type { Plan } from "../../agents/plan/plan.js";
import { activeRuntime } from "../../agents/plan/runtime.js";
import { judge, span } from "../../agents/probe/proof/judge.js";
import { isProven, type Proof } from "../../agents/probe/proof/proof.js";
import type { Operation } from "../../remote/operations/operation.js";
import { type AgentRecord, ownedNames } from "../../state/agent.js";
import { type Agent, hostAndName, secretOwner } from "../../state/agents.js";
import type { Progress } from "../../ui/ui.js";
import { flow, type Phases } from "../flow.js";
import type { Session } from "../session.js";
import { changeRecord, recordProofs, withAnswers, withState } from "./agent-record.js";
import type { NewSecrets } from "./answers.js";
import { keyRefOf, promoteKey } from "./api-key.js";
import type { Prepared } from "./prepare.js";
import { chatSkipped, prove as proveAgent } from "./prove.js";

export interface ApplyOptions {
  verb: string;
  /** Stored in secrets.json before the host gets them. */
  secrets?: NewSecrets | undefined;
  /** Unneeded secrets, deleted after the host was changed. */
  forget?: string[] | undefined;
  /** Prove it afterwards; by default when it runs or should run. */
  validate?: boolean | undefined;
  skipChat?: boolean | undefined;
  /** Ask the model only when a file that the agent reads changed. */
  skipChatIfUnchanged?: boolean | undefined;
  /** Restart and prove it even if nothing changed. */
  restart?: boolean | undefined;
  /** Also prove that its channels and MCP servers are connected. */
  connections?: boolean | undefined;
  /** Report new settings of another program that runs its turns; on by default. */
  reportRuntime?: boolean;
}

export interface ApplyResult {
  record: AgentRecord;
  changes: Change[];
  /** None when it was not validated. */
  proofs: Proof[];
}

/** What a verb did to an agent. */
export interface AgentResult {
  agent: Agent;
  /** None when everything was already so. */
  changes: Change[];
  /** None in a dry run, or when nothing had to be proven. */
  proofs: Proof[];
}

/** Applies a plan to the host, restarts the agent when something changed, proves it, and records both. */
export async function apply(session: Session, prepared: Prepared, options: ApplyOptions): Promise<ApplyResult> {
  const { agent, desired, root, plan } = prepared;
  const summary = `configure ${agent.name} on ${agent.host.name}`;
  const action = { verb: options.verb, target: hostAndName(agent), summary };
  if (!session.gate.dryRun) return flow(session, action, (phases) => applyIn(phases, session, prepared, options));
  const { changesIn } = await import("../../agents/plan/changes-in.js");
  const changes = changesIn(plan, await session.gate.compare(root, operationsOf(prepared, options)));
  return { record: desired.record, changes, proofs: [] };
}

export async function applyIn(
  { change, prove, record }: Phases,
  session: Session,
  prepared: Prepared,
  options: Omit<ApplyOptions, "verb">,
): Promise<ApplyResult> {
  const { agent, desired, root, plan } = prepared;
  const { changesIn } = await import("../../agents/plan/changes-in.js");
  await record("new secrets", () => storeSecrets(session, agent, options.secrets));
  const owned = ownedAfter(agent, plan);
  const begun = (await record("answers", () => recordAnswers(session, prepared, owned))) ?? agent.record;

  const operations = operationsOf(prepared, options);
  const changes = changesIn(plan, await change(`configure ${agent.name}`, { root, operations }));
  const rendered = { owned, digest: desired.digest, at: session.now().toISOString() };
  const current = { ...agent, record: begun };
  const written =
    (await record("what is on the host", () => recordRendered(session, current, plan, rendered, changes))) ?? begun;
  await record("removed secrets", () => forgetSecrets(session, agent, options.forget));
  const validates = (options.validate ?? shouldRun(plan)) && !session.gate.dryRun;
  if (!session.gate.dryRun && (options.reportRuntime ?? true)) reportRuntime(session, agent, plan, changes);
  if (!validates) return { record: written, changes, proofs: [] };

  const configured = { ...agent, record: written };
  const noChat = whyNoChat(session, configured, plan, options, changes);
  const isSame = changes.length === 0 && noChat !== undefined;
  const known = isSame ? judge(plan.agent, prepared.observation, { noChat }) : [];
  const proving = { noChat, connections: options.connections ?? false };
  const validate = async (progress: Progress) =>
    (await proveAgent(session, configured, { ...proving, progress })).proofs;
  // When nothing changed, the observation made before is enough.
  const proofs = isProven(known) ? known : ((await prove(`validate ${agent.name}`, validate, isProven)) ?? []);
  const proven = await record("proofs", () => recordProofs(session, configured, desired, proofs));
  if (desired.keyPending && isProven(proofs)) {
    await record("the new key", () => promoteKey(session, keyRefOf(agent, plan.agent.manifest)));
  }
  return { record: proven ?? written, changes, proofs };
}

const operationsOf = ({ agent, plan }: Prepared, { restart }: Pick<ApplyOptions, "restart">): Operation[] =>
  plan.operations.map((each) => {
    const starts = each.kind === "unit" && each.name === agent.record.unit && each.state === "started";
    return restart && starts ? { ...each, state: "restarted" } : each;
  });

async function storeSecrets(session: Session, agent: Agent, secrets: NewSecrets = {}): Promise<void> {
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret) await session.secrets.set(secretOwner(agent), name, secret, `for ${agent.name}`);
  }
}

async function forgetSecrets(session: Session, agent: Agent, names: string[] = []): Promise<void> {
  for (const name of names) await session.secrets.unset(secretOwner(agent), name);
}

/** Recorded before the host changes: if clm is killed, the host has a mix of old and new names, all owned by clm. */
function recordAnswers(
  session: Session,
  { agent, desired }: Prepared,
  owned: Record<string, string[]>,
): Promise<AgentRecord> {
  const before = agent.record.rendered;
  const rendered = {
    owned: union(ownedNames(agent.record), owned),
    digest: before?.digest ?? "",
    at: before?.at ?? session.now().toISOString(),
  };
  return changeRecord(session, agent, (now) => {
    const draft = withAnswers(now, desired.record);
    return before?.digest === desired.digest ? draft : { ...withState(draft, "validate"), rendered };
  });
}

async function recordRendered(
  session: Session,
  agent: Agent,
  { serviceState, desired }: Plan,
  rendered: NonNullable<AgentRecord["rendered"]>,
  changes: Change[],
): Promise<AgentRecord> {
  const before = agent.record.rendered;
  // The proofs of a stopped agent stay valid while its settings are the same.
  const same = before?.digest === desired.digest && (changes.length === 0 || serviceState === "down");
  if (same && isDeepStrictEqual(ownedNames(agent.record), rendered.owned)) return agent.record;
  return changeRecord(session, agent, (now) =>
    same ? { ...now, rendered } : withState({ ...now, rendered }, "validate"),
  );
}

/** `runtime status` tests whether the program accepts the settings. */
function reportRuntime({ ui }: Session, { ref }: Agent, { agent, files }: Plan, changes: Change[]): void {
  const title = activeRuntime(agent)?.title;
  const changed = files.filter(
    ({ file, made }) => made !== undefined && changes.some((each) => each[fileId] === file.id),
  );
  if (!title || changed.length === 0) return;
  for (const note of changed.flatMap(({ notes }) => notes)) ui.warn(`${title}: ${note}`);
  ui.note(`${title} got new settings; to check that it accepts them: clm agent runtime status ${ref}`);
}

/** Names in a file that is not written now stay owned: the file still exists. */
function ownedAfter({ record }: Agent, { files, desired }: Plan): Record<string, string[]> {
  const removed = unwantedFiles(ownedNames(record), desired.files);
  const before = Object.entries(ownedNames(record)).filter(
    ([, names]) => !names.some((name) => removed.includes(name)),
  );
  const now = files.flatMap(({ file, owned }) => (owned ? [[file.id, owned]] : []));
  return { ...Object.fromEntries(before), ...Object.fromEntries(now) };
}

function union(a: Record<string, string[]>, b: Record<string, string[]>): Record<string, string[]> {
  const ids = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(ids.map((id) => [id, [...new Set([...(a[id] ?? []), ...(b[id] ?? [])])]]));
}

const shouldRun = ({ serviceState, observation }: Plan): boolean =>
  serviceState === "up" || (serviceState === "as-is" && observation.unit.ActiveState === "active");

/** Why the model is not asked; undefined when it is. */
function whyNoChat(
  session: Session,
  { record: { proven, failed } }: Agent,
  { desired: { digest }, files }: Plan,
  options: Omit<ApplyOptions, "verb">,
  changes: Change[],
): string | undefined {
  if (options.skipChat) return chatSkipped;
  const rendered = files.filter(({ file }) => file.content.merge !== "derived").map(({ file }) => file.id);
  // The owner or mode of a file does not affect the model.
  const isRendered = ({ [fileId]: file = "", differences }: Change) =>
    rendered.includes(file) && differences.some(({ kind }) => ["entry", "content", "missing"].includes(kind));
  const restarted = options.skipChatIfUnchanged ? changes.some(isRendered) : changes.length > 0;
  // An earlier answer does not count once the model has failed to answer.
  const holds = proven?.digest === digest && proven.chat && !failed?.proofs.includes("chat");
  if (!holds || restarted || options.restart) return undefined;
  return `proven ${span((session.now().getTime() - Date.parse(proven.at)) / 1000)} ago, unchanged since`;
}
