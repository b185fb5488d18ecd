import { createHash, randomBytes } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { fixes, judge, span } from "../../agents/proof/judge.js";
import { isProven, type Proof } from "../../agents/proof/proof.js";
import { loadType } from "../../agents/registry.js";
import { render } from "../../agents/rendering.js";
import { type Rendering, type Subject, subjectOf } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import { inOneShell } from "../../remote/one-shell.js";
import { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import { type Agent, instanceOf } from "../../state/agents.js";
import type { Works } from "../gate.js";
import type { Session } from "../session.js";
import { answersFor, type NewSecrets } from "./answers.js";
import { apiKeyOf, promoteKey } from "./api-key.js";
import type { Change, Sides } from "./configure/differences.js";
import { mustHaveOwnPorts, mustNotDrop, newPorts, portFor } from "./configure/objections.js";
import { changeRecord, providersBehind, recordProofs, withAnswers, withState } from "./configure/record.js";
import { observe } from "./observe.js";
import { prove } from "./prove.js";

export interface ApplyOptions {
  verb: string;
  /** The record as it should be; without it, as it is. */
  draft?: AgentRecord | undefined;
  /** Another port: a number that must be free on the host, or the first free one. */
  port?: number | "auto" | undefined;
  /** Kept in secrets.json before the host gets them. */
  secrets?: NewSecrets | undefined;
  /** Secrets that nothing needs any more; forgotten when the host has lost them. */
  forget?: string[] | undefined;
  /** Variables in `.env` that clm did not put there may go. */
  allowRemoval?: boolean | undefined;
  /** Prove it afterwards; on without saying. */
  validate?: boolean | undefined;
  skipChat?: boolean | undefined;
  /** The agent is down and stays so: only its files and what its unit says are changed. */
  leaveDown?: boolean | undefined;
}

export interface Applied {
  record: AgentRecord;
  changes: Change[];
  /** None when it was not validated. */
  proofs: Proof[];
}

/**
 * Brings an agent's files and unit to what its record, providers and secrets say, restarts it when that changed
 * something, and proves that it answers. An agent that is so already costs one exec: a look, and a wish in the same shell.
 */
export async function applyRendering(session: Session, agent: Agent, options: ApplyOptions): Promise<Applied> {
  const { gate } = session;
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const key = apiKeyOf(session, { instance: instanceOf(agent), name: manifest.api.secret });
  const draft = options.draft ?? agent.record;
  const providers = providersBehind(session, draft);
  // Everything that can be refused is refused here, before anything changes.
  const wanted = subjectOf(manifest, { ...agent, record: draft });
  const answers = await answersFor(session, wanted, draft, options.secrets);
  const other = digestOf(wanted, render(wanted, answers)) !== agent.record.rendered?.digest;

  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  // The host takes its time for digests, and who changes nothing needs none.
  const salt = gate.dryRun || other || options.port !== undefined ? randomBytes(8).toString("hex") : "";
  const sight = {
    rendered: { salt },
    ports: options.port !== undefined || newPorts(agent, manifest, draft).length > 0,
  };
  const looking = observe(root, subjectOf(manifest, agent), key.key, sight, session.signal);
  // What reads YAML and fills in files takes long to load: that happens while the host looks.
  const loading = turn().then(() => import("./configure/on-host.js"));
  const [seen, { filesFor, wishOf, changesIn }] = await Promise.all([looking, loading]);
  if (!seen.account) throw gone(agent, subjectOf(manifest, agent));

  const record = { ...draft, port: portFor(session, agent, { manifest, record: draft, seen }, options.port) };
  if (options.draft) mustHaveOwnPorts(session, agent, { manifest, record, seen });
  const subject = subjectOf(manifest, { ...agent, record });
  const rendering = render(subject, answers);
  const files = filesFor(subject, rendering, seen, agent.record.rendered?.config ?? []);
  const digest = digestOf(subject, rendering);
  const plan: Plan = { agent, subject, record, rendering, ...files, seen, salt, options, digest, providers };

  if (!options.allowRemoval) mustNotDrop(agent, rendering, seen, gate.dryRun ? session.ui : undefined);
  const deed = {
    verb: options.verb,
    target: `${agent.host.name}/${agent.name}`,
    summary: `configure ${agent.name} on ${agent.host.name}`,
  };
  const wish = wishOf(plan, options);
  if (gate.dryRun) {
    return { record, changes: changesIn(plan, await gate.converge(deed, root, wish)), proofs: [] };
  }
  const change = async (works: Works) => changesIn(plan, await works.converge(root, wish));
  const work = (works: Works) => apply(session, plan, () => change(works));
  const applied = await gate.pass(deed, work, ({ proofs }) => ({
    result: proofs.length === 0 || isProven(proofs) ? "ok" : "failed",
  }));
  if (!applied) throw new Fault("bug", "the gate let nothing through");
  if (key.pending && isProven(applied.proofs)) {
    await promoteKey(session, { instance: instanceOf(agent), name: manifest.api.secret });
  }
  return applied;
}

interface Plan extends Sides {
  agent: Agent;
  /** As it should be. */
  record: AgentRecord;
  digest: string;
  /** As they were before they were rendered. */
  providers: string;
  options: ApplyOptions;
}

export const gone = ({ host, record }: Agent, subject: Subject): Fault =>
  new Fault("not-found", `there is no user ${record.user} on ${host.name} any more`, { next: fixes(subject).install });

/** Of all that an agent is told; a proof holds for as long as it stays. */
export function digestOf({ version, port, relaxed }: Subject, { config, env }: Rendering): string {
  const variables = [...env].map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
  return createHash("sha256")
    .update(JSON.stringify([version, port, relaxed, config, variables]))
    .digest("hex");
}

async function apply(session: Session, plan: Plan, change: () => Promise<Change[]>): Promise<Applied> {
  const { agent, rendering, digest, providers, options } = plan;
  const instance = instanceOf(agent);
  for (const [name, secret] of Object.entries(options.secrets ?? {})) {
    await session.secrets.set(instance, name, secret, `for ${agent.name}`);
  }
  const before = agent.record.rendered;
  const names = [...rendering.env.keys()];
  const stamp = session.now().toISOString();
  // Killed from here on, the host has some of the old and some of the new, and all of it is ours.
  const either = {
    env: union(before?.env, names),
    config: union(before?.config, rendering.paths),
    digest: before?.digest ?? "",
    at: before?.at ?? stamp,
  };
  const begun = await changeRecord(session, agent, (now) => {
    const wanted = withAnswers(now, plan.record);
    return before?.digest === digest ? wanted : { ...withState(wanted, "validate"), rendered: either };
  });

  const changes = await change();
  const rendered = { env: names, config: rendering.paths, digest, at: stamp };
  const same = changes.length === 0 && before?.digest === digest;
  const written = same
    ? begun
    : await changeRecord(session, { ...agent, record: begun }, (now) => withState({ ...now, rendered }, "validate"));
  for (const name of options.forget ?? []) await session.secrets.unset(instance, name);

  const current = { ...agent, record: written };
  if (options.validate === false) return { record: written, changes, proofs: [] };
  const proofs = await proofsOf(session, current, plan, changes.length > 0);
  return { record: await recordProofs(session, current, { digest, providers }, proofs), changes, proofs };
}

const union = (a: string[] = [], b: string[]): string[] => [...new Set([...a, ...b])];

async function proofsOf(
  session: Session,
  agent: Agent,
  { subject, seen, digest, options }: Plan,
  changed: boolean,
): Promise<Proof[]> {
  const { proven } = agent.record;
  const ago = span((session.now().getTime() - Date.parse(proven?.at ?? "")) / 1000);
  const known = proven?.digest === digest && proven.chat && !changed;
  const noChat = options.skipChat
    ? "not asked (--skip-chat)"
    : known
      ? `proven ${ago} ago, unchanged since`
      : undefined;
  if (!changed && noChat !== undefined) {
    const proofs = judge(subject, seen, { noChat });
    if (isProven(proofs)) return proofs;
  }
  return prove(session, agent, { chat: noChat === undefined, ...(noChat !== undefined && { noChat }) });
}
