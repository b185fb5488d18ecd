import { isDeepStrictEqual } from "node:util";
import { type Change, fileId } from "../../agents/plan/change.js";
import { unwantedFiles } from "../../agents/plan/managed-file.js";
import type { Plan } from "../../agents/plan/plan.js";
import { activeRuntime } from "../../agents/plan/runtime.js";
import { judge, span } from "../../agents/probe/proof/judge.js";
import { isProven, type Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import type { Operation } from "../../remote/operations/operation.js";
import { type AgentRecord, ownedNames } from "../../state/agent.js";
import { type Agent, hostAndName, secretOwner } from "../../state/agents.js";
import type { Executor } from "../gate.js";
import type { Session } from "../session.js";
import type { NewSecrets } from "./answers.js";
import { keyPlace, promoteKey } from "./api-key.js";
import { changeRecord, recordProofs, withAnswers, withState } from "./configure/record.js";
import type { Prepared } from "./prepare.js";
import { prove } from "./prove.js";

export interface ApplyOptions {
  verb: string;
  /** Kept in secrets.json before the host gets them. */
  secrets?: NewSecrets | undefined;
  /** Secrets that nothing needs any more; forgotten when the host has lost them. */
  forget?: string[] | undefined;
  /** Prove it afterwards; by default when it runs, or should. */
  validate?: boolean | undefined;
  skipChat?: boolean | undefined;
  /** Ask the model only when a file that the agent reads changed. */
  skipChatIfUnchanged?: boolean | undefined;
  /** Restart it even if nothing changed, and prove all of it again. */
  restart?: boolean | undefined;
  /** Also prove that its channels and MCP servers are connected. */
  connections?: boolean | undefined;
  /** Say when another program that runs its turns got new settings; on by default. */
  tellRuntime?: boolean;
}

export interface Applied {
  record: AgentRecord;
  changes: Change[];
  /** None when it was not validated. */
  proofs: Proof[];
}

/** Brings the host to a prepared plan, restarts the agent when that changed something, proves it, and records both. */
export async function apply(session: Session, prepared: Prepared, options: ApplyOptions): Promise<Applied> {
  const { gate } = session;
  const { agent, desired, root, plan } = prepared;
  const { changesIn } = await import("../../agents/plan/plan.js");
  const operations = options.restart ? plan.operations.map(restarting(agent.record.unit)) : plan.operations;
  const action = {
    verb: options.verb,
    target: hostAndName(agent),
    summary: `configure ${agent.name} on ${agent.host.name}`,
  };
  if (gate.dryRun) {
    const changes = changesIn(plan, await gate.converge(action, root, operations));
    return { record: desired.record, changes, proofs: [] };
  }
  const change = async (executor: Executor) => changesIn(plan, await executor.converge(root, operations));
  const applied = await gate.pass(
    action,
    (executor) => write(session, prepared, options, () => change(executor)),
    ({ proofs }) => ({ result: proofs.length === 0 || isProven(proofs) ? "ok" : "failed" }),
  );
  if (!applied) throw new Fault("bug", "the change gate returned no result");
  if (desired.keyPending && isProven(applied.proofs)) {
    await promoteKey(session, keyPlace(agent, plan.agent.manifest));
  }
  return applied;
}

const restarting =
  (name: string) =>
  (each: Operation): Operation =>
    each.kind === "unit" && each.name === name && each.state === "started" ? { ...each, state: "restarted" } : each;

async function write(
  session: Session,
  { agent, desired, plan }: Prepared,
  options: ApplyOptions,
  change: () => Promise<Change[]>,
): Promise<Applied> {
  const { digest, providers } = desired;
  const instance = secretOwner(agent);
  for (const [name, secret] of Object.entries(options.secrets ?? {})) {
    if (secret) await session.secrets.set(instance, name, secret, `for ${agent.name}`);
  }
  const before = agent.record.rendered;
  const owned = ownedAfter(agent, plan);
  const at = session.now().toISOString();
  // Killed from here on, the host has some of the old names and some of the new, and all of them are clm's.
  const either = { owned: union(ownedNames(agent.record), owned), digest: before?.digest ?? "", at: before?.at ?? at };
  const begun = await changeRecord(session, agent, (now) => {
    const draft = withAnswers(now, desired.record);
    return before?.digest === digest ? draft : { ...withState(draft, "validate"), rendered: either };
  });

  const changes = await change();
  const rendered = { owned, digest, at };
  // What was proven of an agent that is down holds for as long as its settings are the same.
  const same = before?.digest === digest && (changes.length === 0 || plan.serviceState === "down");
  const recorded = same && isDeepStrictEqual(ownedNames(agent.record), owned);
  const written = recorded
    ? begun
    : await changeRecord(session, { ...agent, record: begun }, (now) =>
        same ? { ...now, rendered } : withState({ ...now, rendered }, "validate"),
      );
  for (const name of options.forget ?? []) await session.secrets.unset(instance, name);
  if (options.tellRuntime ?? true) tellRuntime(session, agent, plan, changes);

  const current = { ...agent, record: written };
  if (!(options.validate ?? shouldRun(plan))) return { record: written, changes, proofs: [] };
  const proofs = await proofsOf(session, current, plan, options, changes);
  return { record: await recordProofs(session, current, { digest, providers }, proofs), changes, proofs };
}

/** The program that runs its turns got new settings. Whether it accepts them is for another command to find out. */
function tellRuntime({ ui }: Session, { ref }: Agent, { agent, files }: Plan, changes: Change[]): void {
  const title = activeRuntime(agent)?.title;
  const changed = files.filter(
    ({ file, made }) => made !== undefined && changes.some((each) => each[fileId] === file.id),
  );
  if (!title || changed.length === 0) return;
  for (const note of changed.flatMap(({ notes }) => notes)) ui.warn(`${title}: ${note}`);
  ui.note(`${title} got new settings; to check that it accepts them: clm agent runtime status ${ref}`);
}

/** Names in a file that is not written now stay clm's: the file is still there. */
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

async function proofsOf(
  session: Session,
  agent: Agent,
  { agent: resolved, desired: { digest }, observation, files }: Plan,
  options: ApplyOptions,
  changes: Change[],
): Promise<Proof[]> {
  const { proven, failed } = agent.record;
  const ago = span((session.now().getTime() - Date.parse(proven?.at ?? "")) / 1000);
  const changed = changes.length > 0;
  const rendered = files.filter(({ file }) => file.content.merge !== "derived").map(({ file }) => file.id);
  // Another owner or mode of a file is nothing that the model notices.
  const isRendered = ({ [fileId]: file = "", differences }: Change) =>
    rendered.includes(file) && differences.some(({ kind }) => ["entry", "content", "missing"].includes(kind));
  const restarted = options.skipChatIfUnchanged ? changes.some(isRendered) : changed;
  // An earlier answer counts for nothing once the model has failed to answer.
  const known =
    proven?.digest === digest && proven.chat && !failed?.proofs.includes("chat") && !restarted && !options.restart;
  const noChat = options.skipChat
    ? "not asked (--skip-chat)"
    : known
      ? `proven ${ago} ago, unchanged since`
      : undefined;
  if (!changed && noChat !== undefined) {
    const proofs = judge(resolved, observation, { noChat });
    if (isProven(proofs)) return proofs;
  }
  const { connections = false } = options;
  return prove(session, agent, { chat: noChat === undefined, connections, ...(noChat !== undefined && { noChat }) });
}
