import { basename } from "node:path";
import { completionFrom, errorText } from "../../chat/completion.js";
import type { ChatDialect } from "../../chat/dialect.js";
import { checksFrom, fail, ok, skipped, warn } from "../../check.js";
import { fill } from "../../files/template.js";
import { privatePaths } from "../../plan/account.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { saysVersion, versionLine } from "../version-line.js";
import { isLoopback, socketText } from "./addresses.js";
import { judgeChannels, judgeServers } from "./connections.js";
import { judgeListeners } from "./listeners.js";
import type { Observation, Process } from "./observation.js";
import type { Proof, ProofId, ProofVerdict } from "./proof.js";

export interface JudgeOptions {
  /** The first observation, to count restarts since. */
  first?: Observation | undefined;
  /** Set when a question was asked. */
  chat?: ChatDialect | undefined;
  /** Why no question was asked. */
  noChat?: string | undefined;
}

const needs = (id: ProofId): ProofVerdict => skipped(`needs ${id}`);

/** Seconds a process must be up to count as steady. */
export const minUptimeSeconds = 3;
/** Seconds after which an earlier restart is no warning. */
const restartWarningSeconds = 60;

/** The proofs of an observation, each after those it depends on. */
export function judge(
  agent: ResolvedAgent,
  seen: Observation,
  { first = seen, chat, noChat }: JudgeOptions = {},
): Proof[] {
  const port = judgePort(agent, seen);
  const reachable = port.result === "ok" && !seen.noBash;
  const answers = (verdict: () => ProofVerdict): ProofVerdict =>
    reachable ? verdict() : seen.noBash ? fail("the host has no bash", fixes(agent).again) : needs("port");
  const own = answers(() => judgeOwnKey(agent, seen.answers.own ?? 0));
  const answered = (): ProofVerdict => {
    if (noChat !== undefined) return skipped(noChat);
    if (own.result !== "ok") return needs("auth.own-key");
    return seen.chat && chat ? judgeChat(agent, chat, seen.chat) : skipped("was not asked");
  };
  const { manifest, serves, channels, servers } = agent;
  const hasKey = manifest.api.models !== undefined;
  const whileUp = (judged: typeof judgeChannels) => (seen.age === undefined ? needs("unit") : judged(agent, seen));
  // A type without versions, a key or a chat has nothing to prove there, nor has an agent without channels.
  return checksFrom<ProofId, ProofVerdict>({
    version: (manifest.version !== undefined || !seen.account) && judgeVersion(agent, seen),
    files: judgeFiles(agent, seen),
    unit: judgeUnit(agent, seen),
    steady: judgeSteady(agent, seen, first),
    port: serves !== "none" && port,
    listeners: judgeListeners(agent, seen),
    health: serves === "http" && answers(() => judgeHealth(agent, seen.answers.health ?? 0)),
    "auth.no-key": hasKey && answers(() => judgeClosed(agent, "no key", seen.answers.none ?? 0)),
    "auth.wrong-key": hasKey && answers(() => judgeClosed(agent, "a wrong key", seen.answers.wrong ?? 0)),
    "auth.own-key": hasKey && own,
    chat: manifest.api.chat !== undefined && answered(),
    channels: seen.channels !== undefined && channels.length > 0 && whileUp(judgeChannels),
    mcp: seen.serverLines !== undefined && servers.length > 0 && whileUp(judgeServers),
  });
}

export function fixes({ name, ref, host, unit, manifest, version, adopted }: ResolvedAgent) {
  return {
    again: `clm agent configure ${ref}`,
    start: `clm agent start ${ref}`,
    journal: `clm host exec ${host} --sudo -- journalctl -u ${unit} -n 50 --no-pager`,
    // clm does not repair an installation that it did not make: remove it and install again.
    install: adopted
      ? `clm agent remove ${ref}`
      : `clm agent install --type ${manifest.type} --host ${host} --name ${name} --version ${version}`,
    otherPort: `clm agent configure ${ref} --port auto`,
  };
}

function judgeVersion(agent: ResolvedAgent, { version = "", account }: Observation): ProofVerdict {
  const { install } = fixes(agent);
  const wanted = versionLine(agent);
  if (!account) return fail(`there is no user ${agent.user} on the host`, install);
  if (saysVersion(agent, version)) return ok(version);
  if (version === "") return fail(`cannot read the version from ${agent.paths.launcher}`, install);
  return fail(`it reports version '${brief(version)}', expected '${wanted}'`, install);
}

function judgeFiles(agent: ResolvedAgent, { files }: Observation): ProofVerdict {
  const wrong = privatePaths(agent).flatMap(({ name, path, kind, mode }) => {
    const [isKind = "", owner, isMode] = (files[name] ?? "").split(":");
    if (isKind === "") return [`${path} is missing`];
    if (isKind.replace("regular empty file", "regular file") !== kind) return [`${path} is a ${isKind}`];
    if (owner !== agent.user) return [`${path} belongs to ${owner}`];
    const wanted = mode.toString(8);
    return isMode === wanted ? [] : [`${path} has mode 0${isMode} and should have 0${wanted}`];
  });
  if (wrong.length > 0) return fail(wrong.join("; "), fixes(agent).again);
  const names = privatePaths(agent).flatMap(({ path, kind }) => (kind === "regular file" ? basename(path) : []));
  return ok(`${names.join(" and ")} can be read by the agent alone`);
}

function judgeUnit(agent: ResolvedAgent, { unit }: Observation): ProofVerdict {
  const { start, journal, install } = fixes(agent);
  const { LoadState, ActiveState = "", SubState = "", Result, ExecMainStatus } = unit;
  if (LoadState === "not-found") return fail(`there is no unit ${agent.unit}`, install);
  if (ActiveState === "active" && SubState === "running") return ok(`${agent.unit} is active`);
  if (ActiveState === "inactive") return { ...fail(`${agent.unit} is stopped`, start), cause: "down" };
  const how = Result && Result !== "success" ? `, ${Result} ${ExecMainStatus}` : "";
  const failed = fail(`${agent.unit} is ${ActiveState} (${SubState}${how})`, journal);
  return ActiveState === "failed" ? { ...failed, cause: "down" } : failed;
}

function judgeSteady(agent: ResolvedAgent, seen: Observation, first: Observation): ProofVerdict {
  const { journal } = fixes(agent);
  const restarts = restartsOf(seen);
  const since = restarts - restartsOf(first);
  if (since > 0) return fail(`restarted ${times(since)} while it was watched`, journal);
  if (seen.age === undefined) return needs("unit");
  const up = `up for ${span(seen.age)}`;
  if (seen.age < minUptimeSeconds) return { ...fail(`${up} only`, journal), cause: "young" };
  if (restarts === 0) return ok(`${up}, never restarted`);
  if (seen.age >= restartWarningSeconds) return ok(`${up}, restarted ${times(restarts)} before that`);
  return warn(`${up}, restarted ${times(restarts)} just before that`, journal);
}

export const restartsOf = ({ unit }: Observation): number => Number(unit.NRestarts ?? 0);
export const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

export function span(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

function judgePort(agent: ResolvedAgent, { listeners, strangers }: Observation): ProofVerdict {
  const { port } = agent;
  const { journal, otherPort } = fixes(agent);
  const isForeign = (what: string, process: Process): ProofVerdict => ({
    ...fail(`another process has ${what} ${port}: ${holderText(process)}`, otherPort),
    cause: "foreign-listener",
  });
  const foreign = listeners.find(({ own }) => !own);
  if (foreign) return isForeign("port", foreign);
  if (strangers[0]) return isForeign("a connection of port", strangers[0]);
  const [first] = listeners;
  if (!first) return { ...fail(`nothing listens on port ${port}`, journal), cause: "no-listener" };
  const open = listeners.find(({ address }) => !isLoopback(address));
  if (open) return fail(`it listens on ${socketText(open.address, port)}, not only on loopback`, fixes(agent).again);
  return ok(`127.0.0.1:${port} is held by its process ${first.pid}`);
}

const holderText = ({ pid, user, command }: Process): string =>
  pid === 0 ? "unknown pid" : `pid ${pid}, user ${user}, ${command || "?"}`;

const statusText = (status: number): string => (status === 0 ? "did not respond" : `returned ${status}`);

function judgeHealth(agent: ResolvedAgent, status: number): ProofVerdict {
  const health = fill(agent.manifest.api.health, agent.settings) ?? "";
  return status === 200 ? ok(`${health} returned 200`) : fail(`${health} ${statusText(status)}`, fixes(agent).journal);
}

function judgeClosed(agent: ResolvedAgent, key: string, status: number): ProofVerdict {
  const { models } = agent.manifest.api;
  if (status === 401) return ok(`${models} with ${key} returned 401`);
  const said = `${models} with ${key} ${statusText(status)}, expected 401`;
  return fail(status === 200 ? `the API is open: ${said}` : said, fixes(agent).again);
}

function judgeOwnKey(agent: ResolvedAgent, status: number): ProofVerdict {
  const { models } = agent.manifest.api;
  if (status === 200) return ok(`${models} with its own key returned 200`);
  if (status === 401) return fail(`it refuses its own key: ${models} returned 401`, fixes(agent).again);
  return fail(`${models} with its own key ${statusText(status)}`, fixes(agent).journal);
}

export function judgeChat(
  agent: ResolvedAgent,
  chat: ChatDialect,
  { status, headers, body }: NonNullable<Observation["chat"]>,
): ProofVerdict {
  const unanswered = (reason: string): ProofVerdict =>
    fail(`no answer from the model: ${reason}`, `clm agent configure ${agent.ref} --stage providers`);
  if (status === 0) return { ...unanswered("the agent did not respond"), cause: "no-answer" };
  if (status !== 200) {
    const said = completionFrom(body);
    return unanswered(`HTTP ${status}${said ? `: ${brief(errorText(said) || body)}` : ""}`);
  }
  const reader = chat.reader(agent, { streams: false, headers, onPiece() {} });
  reader.push(Buffer.from(body));
  const { text, failure } = reader.end();
  if (failure) return unanswered(brief(failure.text));
  return ok(`the model answered: ${brief(text.trim(), 60)}`);
}

export function brief(text: string, longest = 160): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
