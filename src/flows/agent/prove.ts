import { setTimeout as sleep } from "node:timers/promises";
import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { finalCause, withCause } from "../../agents/probe/proof/cause.js";
import { withoutSecretsIn } from "../../agents/probe/proof/connections.js";
import { judge, restartsOf, settled } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { isProven, type Proof } from "../../agents/probe/proof/proof.js";
import { agentType } from "../../agents/type.js";
import type { Shell } from "../../remote/process.js";
import { sharedShell } from "../../remote/shared-shell.js";
import type { Secret } from "../../secret.js";
import type { Agent } from "../../state/agents.js";
import { redactedBody } from "../../text/redacted-json.js";
import type { Progress } from "../../ui/ui.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { apiKeyOf, keyPlace } from "./api-key.js";
import { observe } from "./observe.js";

export { isProven, type Proof } from "../../agents/probe/proof/proof.js";

export interface ProveOptions {
  /** Ask the model one real question. */
  chat: boolean;
  /** Said of the chat proof when it is not asked. */
  noChat?: string | undefined;
  /** Also its channels and MCP servers; channels get some time to connect. */
  connections?: boolean;
  /** Milliseconds until it must answer; without it, what the manifest gives this agent. */
  timeout?: number;
  /** Where to show what is waited for; without it, on a line of its own. */
  progress?: Progress;
}

const pause = 700;
/** Milliseconds after which the agent's own words may end the waiting. */
const wondering = 8000;

/**
 * Prove: what runs is this agent, locked, and answering. Looks until all of it is so, until it cannot become so any more,
 * or until its time is up. Changes nothing.
 */
export async function prove(session: Session, agent: Agent, options: ProveOptions): Promise<Proof[]> {
  return (await proveAndObserve(session, agent, options)).proofs;
}

/** The proofs, and what was seen last. */
export interface ProveResult {
  proofs: Proof[];
  seen: Observation;
}

export async function proveAndObserve(session: Session, agent: Agent, options: ProveOptions): Promise<ProveResult> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const resolved = resolvedAgent(manifest, agent);
  const { key } = apiKeyOf(session, keyPlace(agent, manifest));
  // What the agent says when it fails is told, and it knows more secrets than its own key.
  hideSecrets(session);
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const timeout = options.timeout ?? patienceFor(resolved, agent);
  return watch(session, { root, resolved, key }, { ...options, timeout });
}

/** How long an agent may take to answer after its start. */
const patienceFor = ({ manifest }: ResolvedAgent, { record }: Agent): number =>
  manifest.api.timeout.start + manifest.api.timeout.per_server * Object.keys(record.mcp ?? {}).length;

interface Scene {
  root: Shell;
  resolved: ResolvedAgent;
  key: Secret;
}

async function watch(
  session: Session,
  { root, resolved, key }: Scene,
  { chat, noChat, connections = false, timeout, ...options }: ProveOptions & { timeout: number },
): Promise<ProveResult> {
  const { ui, signal } = session;
  const dialect = chat ? await (await agentType(resolved.manifest)).chat?.() : undefined;
  const missing = chat ? `${resolved.manifest.type} agents have no chat` : (noChat ?? "not asked for");
  const skipped = dialect ? undefined : missing;
  const look = async (sight: Parameters<typeof observe>[3]) =>
    withoutSecrets(ui, resolved, await observe(root, resolved, key, sight, signal), dialect?.errorHeader);
  const progress = options.progress ?? ui.progress(`validate ${resolved.name}`);
  const began = Date.now();
  let first: Observation | undefined;
  let answered: Observation["chat"];
  let asked: string | undefined;
  let process: string | undefined;
  /** When all else held for the first time, and only channels were missing. */
  let connecting: number | undefined;
  try {
    for (;;) {
      const seen = await look({ chat: answered === undefined ? dialect : undefined, connections });
      first ??= seen;
      // What another process answered proves nothing about this one.
      if (process !== undefined && process !== seen.unit.MainPID) answered = undefined;
      process = seen.unit.MainPID;
      // An answer that broke off may be the end of its process: the next look tells.
      const brokeOff = seen.chat?.status === 0;
      answered = seen.chat ?? answered;
      asked = seen.asked ?? asked;
      if (answered) seen.chat = answered;
      const proofs = judge(resolved, seen, { first, chat: dialect, noChat: skipped });
      if (isProven(proofs)) {
        progress.done(`${resolved.name} is proven`);
        return { proofs, seen };
      }
      const waited = Date.now() - began;
      // Each proof is judged when it is due: one that only takes time is not, however long the others took.
      const onlyTime = failuresIn(proofs).every(needsTime);
      if (onlyTime && isConnecting(proofs)) connecting ??= Date.now();
      const timeUp =
        isConnecting(proofs) && onlyTime
          ? Date.now() - (connecting ?? began) > resolved.manifest.api.timeout.channels
          : waited > timeout + (onlyTime ? settled * 2000 : 0);
      const over =
        timeUp || (!brokeOff && isFinal(seen, first, proofs)) || (waited > wondering && answersAll(seen) && !onlyTime);
      const [failed] = failuresIn(proofs);
      const since = failed?.id === "chat" ? asked : undefined;
      const { words } = over || waited > wondering ? await look({ words: { since } }) : seen;
      if (over || finalCause(resolved, words, proofs)) {
        progress.fail();
        return { proofs: withCause(resolved, withoutUndue(proofs), words), seen };
      }
      progress.update(proofs.find(({ result }) => result === "fail")?.reason ?? "");
      await sleep(pauseAfter(seen, proofs), undefined, { signal });
    }
  } catch (error) {
    progress.fail();
    throw error;
  }
}

/** Nothing is wrong with it but that somebody stopped it. */
export function isMerelyStopped({ proofs, seen }: ProveResult): boolean {
  const { LoadState, ActiveState } = seen.unit;
  if (LoadState === "not-found" || ActiveState !== "inactive" || seen.listeners.length > 0) return false;
  return proofs.every(({ id, result }) => result !== "fail" || id === "unit" || id === "port");
}

/**
 * Takes secrets out of what the agent and its model said, before it is shortened: half a secret is not recognised. Of the
 * headers only the one that is shown: the others are compared, and a secret may be any word.
 */
function withoutSecrets(
  ui: Session["ui"],
  resolved: ResolvedAgent,
  { words, chat, ...seen }: Observation,
  errorHeader: string | undefined,
): Observation {
  const shown = (name: string, value: string) => (name === errorHeader ? ui.redact(value) : value);
  const headers = Object.entries(chat?.headers ?? {}).map(([name, value]) => [name, shown(name, value)]);
  return {
    ...seen,
    ...withoutSecretsIn({ ...seen, words }, ui.redact, resolved),
    words: words.map(ui.redact),
    ...(chat && { chat: { ...chat, headers: Object.fromEntries(headers), body: redactedBody(chat.body, ui.redact) } }),
  };
}

const failuresIn = (proofs: Proof[]): Proof[] => proofs.filter(({ result }) => result === "fail");

const needsTime = ({ cause }: Proof): boolean => cause === "young" || cause === "connecting";

const isConnecting = (proofs: Proof[]): boolean => proofs.some(({ cause }) => cause === "connecting");

/** Once something else has failed, nobody waits any longer for what only takes time: it is neither proven nor failed. */
function withoutUndue(proofs: Proof[]): Proof[] {
  if (failuresIn(proofs).every(needsTime)) return proofs;
  return proofs.map(({ id, reason, ...proof }) =>
    needsTime({ id, reason, ...proof }) ? { id, result: "skipped", reason } : { id, reason, ...proof },
  );
}

/** When all that is missing is some time, that time: each look leaves two lines of refused keys in the agent's log. */
function pauseAfter({ age = 0 }: Observation, proofs: Proof[]): number {
  const failed = failuresIn(proofs);
  if (failed.length === 1 && failed[0]?.cause === "young") return Math.max(pause, (settled - age) * 1000);
  return failed.every(needsTime) ? 2000 : pause;
}

/** It is up and answers whatever it is asked: what it says now it will say later. */
const answersAll = ({ answers }: Observation): boolean => {
  const statuses = Object.values(answers);
  return statuses.length > 0 && statuses.every((status) => status > 0);
};

/** What does not hold will not come to hold by waiting. */
function isFinal(seen: Observation, first: Observation, proofs: Proof[]): boolean {
  const failed = new Set(proofs.filter(({ result }) => result === "fail").map(({ id }) => id));
  if (failed.has("version") || failed.has("files") || failed.has("chat") || failed.has("mcp")) return true;
  if (proofs.some(({ cause }) => cause === "refused")) return true;
  if (seen.unit.ActiveState === "failed" || seen.unit.ActiveState === "inactive") return true;
  if (restartsOf(seen) - restartsOf(first) >= 2) return true;
  if (failed.has("port") && seen.listeners.length > 0) return true;
  // It listens and gives answers, and they are the wrong ones.
  return seen.answers.health === 200 && answersAll(seen) && [...failed].some((id) => id.startsWith("auth."));
}
