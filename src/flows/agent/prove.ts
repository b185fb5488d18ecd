import { setTimeout as sleep } from "node:timers/promises";
import { type ResolvedAgent, startTimeout } from "../../agents/plan/resolved-agent.js";
import { withoutSecretsIn } from "../../agents/probe/proof/connections.js";
import { judge, minUptimeSeconds, restartsOf } from "../../agents/probe/proof/judge.js";
import { isFinalLogCause, withLogCause } from "../../agents/probe/proof/log-cause.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { isProven, type Proof } from "../../agents/probe/proof/proof.js";
import type { ProbeOptions } from "../../agents/probe/proof/script.js";
import { agentType } from "../../agents/type.js";
import { sharedShell } from "../../remote/shared-shell.js";
import type { Agent } from "../../state/agents.js";
import { redactedBody } from "../../text/redacted-json.js";
import type { Progress } from "../../ui/ui.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { apiKeyOf, keyRefOf } from "./api-key.js";
import { observe } from "./observe.js";
import { resolve } from "./target.js";

export interface ProveOptions {
  /** Why the model is not asked; without it, it is. */
  noChat?: string | undefined;
  /** Also its channels and MCP servers; channels get some time to connect. */
  connections?: boolean;
  /** Milliseconds until it must answer; by default those of `api.timeout` in the manifest. */
  timeout?: number;
  /** Where to show progress; without it, on a separate line. */
  progress?: Progress;
}

/** The `noChat` of the option that skips the model. */
export const chatSkipped = "skipped with --skip-chat";

const probeInterval = 700;
/** Milliseconds after which a cause in the agent's log may end the wait. */
const causeDelay = 8000;

export interface ProveResult {
  proofs: Proof[];
  observation: Observation;
}

/** Probes until every proof passes, one fails for good, or the timeout. Changes nothing. */
export async function prove(
  session: Session,
  agent: Agent,
  { noChat, connections = false, ...options }: ProveOptions,
): Promise<ProveResult> {
  const { ui, signal } = session;
  const resolved = await resolve(session, agent);
  const { key } = apiKeyOf(session, keyRefOf(agent, resolved.manifest));
  // The agent's own messages are shown, and it knows more secrets than its key.
  hideSecrets(session);
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const dialect = noChat === undefined ? await (await agentType(resolved.manifest)).chat?.() : undefined;
  const skipped = dialect ? undefined : (noChat ?? `${resolved.manifest.type} agents have no chat`);
  const probe = async (what: ProbeOptions) =>
    withoutSecrets(ui, resolved, await observe(root, resolved, key, what, signal), dialect?.errorHeader);
  const progress = options.progress ?? ui.progress(`validate ${resolved.name}`);
  const timeout = options.timeout ?? startTimeout(resolved);
  const limits = { timeout, channels: resolved.manifest.api.timeout.channels };
  const began = Date.now();
  let connectingSince: number | undefined;
  let first: Observation | undefined;
  let answer: ChatAnswer | undefined;
  try {
    for (;;) {
      const observation = await probe({ chat: answer ? undefined : dialect, connections });
      first ??= observation;
      // A truncated answer may mean that the process ended: the next probe shows it.
      const brokeOff = observation.chat?.status === 0;
      answer = answerAfter(answer, observation);
      if (answer) observation.chat = answer.chat;
      const proofs = judge(resolved, observation, { first, chat: dialect, noChat: skipped });
      if (isProven(proofs)) {
        progress.done(`${resolved.name} is proven`);
        return { proofs, observation };
      }
      const waited = Date.now() - began;
      if (lackOnlyTime(proofs) && isConnecting(proofs)) connectingSince ??= Date.now();
      const connecting = Date.now() - (connectingSince ?? began);
      const over = isOver({ first, observation, proofs, brokeOff, waited, connecting }, limits);
      const since = failuresIn(proofs)[0]?.id === "chat" ? answer?.asked : undefined;
      const { words } = over || waited > causeDelay ? await probe({ words: { since } }) : observation;
      if (over || isFinalLogCause(resolved, words, proofs)) {
        progress.fail();
        return { proofs: withLogCause(resolved, skipTimeDependent(proofs), words), observation };
      }
      progress.update(failuresIn(proofs)[0]?.reason ?? "");
      await sleep(pauseAfter(observation, proofs), undefined, { signal });
    }
  } catch (error) {
    progress.fail();
    throw error;
  }
}

/** What a model answered, to which process of the agent, and when it was asked. */
interface ChatAnswer {
  chat: NonNullable<Observation["chat"]>;
  asked: string | undefined;
  process: string | undefined;
}

/** The model is asked once per process: an answer of an earlier process proves nothing about this one. */
function answerAfter(before: ChatAnswer | undefined, { chat, asked, unit }: Observation): ChatAnswer | undefined {
  const process = unit.MainPID;
  if (chat) return { chat, asked, process };
  return before?.process === process ? before : undefined;
}

interface Moment {
  first: Observation;
  observation: Observation;
  proofs: Proof[];
  /** The model's answer was cut short. */
  brokeOff: boolean;
  /** Milliseconds since the first probe. */
  waited: number;
  /** Milliseconds since nothing but its connections was missing. */
  connecting: number;
}

/** Whether waiting longer is useless. */
export function isOver(
  { first, observation, proofs, brokeOff, waited, connecting }: Moment,
  limits: { timeout: number; channels: number },
): boolean {
  if (!brokeOff && isFinal(observation, first, proofs)) return true;
  // A proof that only needs time is judged last, however long the others took.
  if (lackOnlyTime(proofs))
    return isConnecting(proofs) ? connecting > limits.channels : waited > limits.timeout + minUptimeSeconds * 2000;
  return waited > limits.timeout || (waited > causeDelay && (answersAll(observation) || isOnlyOpen(proofs)));
}

export function isMerelyStopped({ proofs, observation }: ProveResult): boolean {
  const { LoadState, ActiveState } = observation.unit;
  if (LoadState === "not-found" || ActiveState !== "inactive" || observation.listeners.length > 0) return false;
  return proofs.every(({ id, result }) => result !== "fail" || id === "unit" || id === "port");
}

/**
 * Redacts messages before they are shortened: half a secret is not recognised. Only the header that is shown is
 * redacted: the others are compared, and a secret may be any word.
 */
function withoutSecrets(
  ui: Session["ui"],
  resolved: ResolvedAgent,
  { words, chat, ...observation }: Observation,
  errorHeader: string | undefined,
): Observation {
  const shown = (name: string, value: string) => (name === errorHeader ? ui.redact(value) : value);
  const headers = Object.entries(chat?.headers ?? {}).map(([name, value]) => [name, shown(name, value)]);
  return {
    ...observation,
    ...withoutSecretsIn({ ...observation, words }, ui.redact, resolved),
    words: words.map(ui.redact),
    ...(chat && { chat: { ...chat, headers: Object.fromEntries(headers), body: redactedBody(chat.body, ui.redact) } }),
  };
}

const failuresIn = (proofs: Proof[]): Proof[] => proofs.filter(({ result }) => result === "fail");
const needsTime = ({ cause }: Proof): boolean => cause === "young" || cause === "connecting";
const lackOnlyTime = (proofs: Proof[]): boolean => failuresIn(proofs).every(needsTime);
const isConnecting = (proofs: Proof[]): boolean => proofs.some(({ cause }) => cause === "connecting");

/** When another proof has failed, a proof that only needs time is skipped. */
function skipTimeDependent(proofs: Proof[]): Proof[] {
  if (lackOnlyTime(proofs)) return proofs;
  return proofs.map((proof) => {
    const { id, reason } = proof;
    return needsTime(proof) ? { id, result: "skipped", reason } : proof;
  });
}

/** Waits for the missing time at once: each probe leaves two refused keys in the agent's log. */
function pauseAfter({ age = 0 }: Observation, proofs: Proof[]): number {
  const failed = failuresIn(proofs);
  if (failed.length === 1 && failed[0]?.cause === "young")
    return Math.max(probeInterval, (minUptimeSeconds - age) * 1000);
  return failed.every(needsTime) ? 2000 : probeInterval;
}

/** Whether nothing is wrong but ports that other machines reach. */
const isOnlyOpen = (proofs: Proof[]): boolean => failuresIn(proofs).every(({ id }) => id === "listeners");

/** Its answers will not change by waiting. */
const answersAll = ({ answers }: Observation): boolean => {
  const statuses = Object.values(answers);
  return statuses.length > 0 && statuses.every((status) => status > 0);
};

/** Whether waiting cannot make the failed proofs pass. */
function isFinal(observation: Observation, first: Observation, proofs: Proof[]): boolean {
  const failed = new Set(failuresIn(proofs).map(({ id }) => id));
  if (failed.has("version") || failed.has("files") || failed.has("chat") || failed.has("mcp")) return true;
  if (proofs.some(({ cause }) => cause === "refused")) return true;
  if (observation.unit.ActiveState === "failed" || observation.unit.ActiveState === "inactive") return true;
  if (restartsOf(observation) - restartsOf(first) >= 2) return true;
  if (failed.has("port") && observation.listeners.length > 0) return true;
  // It answers wrongly.
  return (
    observation.answers.health === 200 && answersAll(observation) && [...failed].some((id) => id.startsWith("auth."))
  );
}
