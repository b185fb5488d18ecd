import { basename } from "node:path";
import type { ChatDialect } from "../../chat/dialect.js";
import { fill } from "../../files/template.js";
import { privatePaths } from "../../plan/account.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { saysVersion, versionLine } from "../version-line.js";
import { addressText } from "./addresses.js";
import { judgeChat } from "./chat.js";
import { judgeChannels, judgeServers } from "./connections.js";
import { judgeListeners } from "./listeners.js";
import type { Observation, Process } from "./observation.js";
import type { Proof, ProofCause, ProofId } from "./proof.js";

export interface JudgeOptions {
  /** The first observation, to count restarts since. */
  first?: Observation | undefined;
  /** Set when a question was asked. */
  chat?: ChatDialect | undefined;
  /** Why no question was asked. */
  noChat?: string | undefined;
}

type Verdict = Omit<Proof, "id">;
const ok = (reason: string): Verdict => ({ result: "ok", reason });
const fail = (reason: string, fix: string, cause?: ProofCause): Verdict => ({
  result: "fail",
  reason,
  ...(cause && { cause }),
  fix,
});
const needs = (id: ProofId): Verdict => ({ result: "skipped", reason: `needs ${id}` });

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
  const answers = (verdict: () => Verdict): Verdict =>
    reachable ? verdict() : seen.noBash ? fail("the host has no bash", fixes(agent).again) : needs("port");
  const own = answers(() => judgeOwnKey(agent, seen.answers.own ?? 0));
  const answered = (): Verdict => {
    if (noChat !== undefined) return { result: "skipped", reason: noChat };
    if (own.result !== "ok") return needs("auth.own-key");
    return seen.chat && chat ? judgeChat(agent, chat, seen.chat) : { result: "skipped", reason: "was not asked" };
  };
  const { manifest, serves } = agent;
  const { models, chat: hasChat } = manifest.api;
  // A type without versions, a key or a chat has nothing to prove there.
  const applies: Partial<Record<ProofId, boolean>> = {
    version: manifest.version !== undefined || !seen.account,
    port: serves !== "none",
    health: serves === "http",
    "auth.no-key": models !== undefined,
    "auth.wrong-key": models !== undefined,
    "auth.own-key": models !== undefined,
    chat: hasChat !== undefined,
  };
  const proofs: Proof[] = [
    { id: "version", ...judgeVersion(agent, seen) },
    { id: "files", ...judgeFiles(agent, seen) },
    { id: "unit", ...judgeUnit(agent, seen) },
    { id: "steady", ...judgeSteady(agent, seen, first) },
    { id: "port", ...port },
    { id: "listeners", ...judgeListeners(agent, seen) },
    { id: "health", ...answers(() => judgeHealth(agent, seen.answers.health ?? 0)) },
    { id: "auth.no-key", ...answers(() => judgeClosed(agent, "no key", seen.answers.none ?? 0)) },
    { id: "auth.wrong-key", ...answers(() => judgeClosed(agent, "a wrong key", seen.answers.wrong ?? 0)) },
    { id: "auth.own-key", ...own },
    { id: "chat", ...answered() },
    ...judgeChannels(agent, seen),
    ...judgeServers(agent, seen),
  ];
  return proofs.filter(({ id }) => applies[id] ?? true);
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

function judgeVersion(agent: ResolvedAgent, { version = "", account }: Observation): Verdict {
  const { install } = fixes(agent);
  const wanted = versionLine(agent);
  if (!account) return fail(`there is no user ${agent.user} on the host`, install);
  if (saysVersion(agent, version)) return ok(version);
  if (version === "") return fail(`${agent.paths.launcher} does not tell its version`, install);
  return fail(`it says '${brief(version)}' and should say '${wanted}'`, install);
}

function judgeFiles(agent: ResolvedAgent, { files }: Observation): Verdict {
  const wrong = privatePaths(agent).flatMap(({ name, path, kind, mode }) => {
    const [isKind = "", owner, isMode] = (files[name] ?? "").split(":");
    if (isKind === "") return [`${path} is missing`];
    if (isKind.replace("regular empty file", "regular file") !== kind) return [`${path} is a ${isKind}`];
    if (owner !== agent.user) return [`${path} belongs to ${owner}`];
    const wanted = mode.toString(8);
    return isMode === wanted ? [] : [`${path} has mode 0${isMode} and should have 0${wanted}`];
  });
  return wrong.length > 0
    ? fail(wrong.join("; "), fixes(agent).again)
    : ok(`${fileNames(agent).join(" and ")} can be read by the agent alone`);
}

const fileNames = (agent: ResolvedAgent): string[] =>
  privatePaths(agent).flatMap(({ path, kind }) => (kind === "regular file" ? basename(path) : []));

function judgeUnit(agent: ResolvedAgent, { unit }: Observation): Verdict {
  const { start, journal, install } = fixes(agent);
  const { LoadState, ActiveState = "", SubState = "", Result, ExecMainStatus } = unit;
  if (LoadState === "not-found") return fail(`there is no unit ${agent.unit}`, install);
  if (ActiveState === "active" && SubState === "running") return ok(`${agent.unit} is active`);
  if (ActiveState === "inactive") return fail(`${agent.unit} is stopped`, start, "down");
  const how = Result && Result !== "success" ? `, ${Result} ${ExecMainStatus}` : "";
  const cause = ActiveState === "failed" ? "down" : undefined;
  return fail(`${agent.unit} is ${ActiveState} (${SubState}${how})`, journal, cause);
}

function judgeSteady(agent: ResolvedAgent, seen: Observation, first: Observation): Verdict {
  const { journal } = fixes(agent);
  const restarts = restartsOf(seen);
  const since = restarts - restartsOf(first);
  if (since > 0) return fail(`restarted ${times(since)} while it was watched`, journal);
  if (seen.age === undefined) return needs("unit");
  const up = `up for ${span(seen.age)}`;
  if (seen.age < minUptimeSeconds) return fail(`${up} only`, journal, "young");
  if (restarts === 0) return ok(`${up}, never restarted`);
  if (seen.age >= restartWarningSeconds) return ok(`${up}, restarted ${times(restarts)} before that`);
  return { result: "warn", reason: `${up}, restarted ${times(restarts)} just before that`, fix: journal };
}

export const restartsOf = ({ unit }: Observation): number => Number(unit.NRestarts ?? 0);
export const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

export function span(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

function judgePort(agent: ResolvedAgent, { listeners, strangers }: Observation): Verdict {
  const { port } = agent;
  const { journal, otherPort } = fixes(agent);
  const stranger = listeners.find(({ own }) => !own);
  if (stranger) {
    return fail(`another process has port ${port}: ${holderText(stranger)}`, otherPort, "foreign-listener");
  }
  const [other] = strangers;
  if (other) {
    return fail(
      `another process has a connection of port ${port}: ${holderText(other)}`,
      otherPort,
      "foreign-listener",
    );
  }
  const [first] = listeners;
  if (!first) return fail(`nothing listens on port ${port}`, journal, "no-listener");
  const open = listeners.find(({ address }) => !isLoopback(address));
  if (open) return fail(`it listens on ${hostPart(open.address)}:${port}, not only on loopback`, fixes(agent).again);
  return ok(`127.0.0.1:${port} is held by its process ${first.pid}`);
}

const holderText = ({ pid, user, command }: Process): string =>
  pid === 0 ? "it cannot be seen which" : `pid ${pid}, user ${user}, ${command || "?"}`;

// The kernel writes each group of four bytes in the machine's order: 127.0.0.1 is 0100007F.
export const isLoopback = (hex: string): boolean =>
  /^[0-9A-F]{6}7F$/.test(hex) ||
  hex === "00000000000000000000000001000000" ||
  /^0000000000000000FFFF0000[0-9A-F]{6}7F$/.test(hex);

const hostPart = (hex: string): string => (hex.length > 8 ? `[${addressText(hex)}]` : addressText(hex));
const gave = (status: number): string => (status === 0 ? "gave no answer" : `gave ${status}`);

function judgeHealth(agent: ResolvedAgent, status: number): Verdict {
  const health = fill(agent.manifest.api.health, agent.settings) ?? "";
  return status === 200 ? ok(`${health} gave 200`) : fail(`${health} ${gave(status)}`, fixes(agent).journal);
}

function judgeClosed(agent: ResolvedAgent, key: string, status: number): Verdict {
  const { models } = agent.manifest.api;
  if (status === 401) return ok(`${models} with ${key} gave 401`);
  const said = `${models} with ${key} ${gave(status)}, and should give 401`;
  return fail(status === 200 ? `the API is open: ${said}` : said, fixes(agent).again);
}

function judgeOwnKey(agent: ResolvedAgent, status: number): Verdict {
  const { models } = agent.manifest.api;
  if (status === 200) return ok(`${models} with its own key gave 200`);
  if (status === 401) return fail(`it refuses its own key: ${models} gave 401`, fixes(agent).again);
  return fail(`${models} with its own key ${gave(status)}`, fixes(agent).journal);
}

export function brief(text: string, longest = 160): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
