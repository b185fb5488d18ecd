import { privatePlaces } from "../private-places.js";
import type { Subject } from "../subject.js";
import { saysVersion, versionLine } from "../version-line.js";
import { addressText } from "./addresses.js";
import { judgeChat } from "./chat.js";
import { judgeChannels, judgeServers } from "./connections.js";
import { judgeListeners } from "./listeners.js";
import type { Proof, ProofCause, ProofId } from "./proof.js";
import type { Process, Seen } from "./seen.js";

export interface Judging {
  /** What was seen at first, to tell whether it keeps up. */
  first?: Seen | undefined;
  /** Why no question was asked, when none was to be. */
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

/** Seconds a process must have been there before it counts as one that stays. */
export const settled = 3;
/** Seconds after which nobody asks any more why it was restarted. */
const calm = 60;

/** What was seen of an agent, as proofs, in the order in which one rests on the other. */
export function judge(subject: Subject, seen: Seen, { first = seen, noChat }: Judging = {}): Proof[] {
  const port = judgePort(subject, seen);
  const reachable = port.result === "ok" && !seen.noBash;
  const answers = (verdict: () => Verdict): Verdict =>
    reachable ? verdict() : seen.noBash ? fail("the host has no bash", fixes(subject).again) : needs("port");
  const own = answers(() => judgeOwnKey(subject, seen.answers.own ?? 0));
  const chat = (): Verdict => {
    if (noChat !== undefined) return { result: "skipped", reason: noChat };
    if (own.result !== "ok") return needs("gate.own");
    return seen.chat ? judgeChat(subject, seen.chat) : { result: "skipped", reason: "was not asked" };
  };
  return [
    { id: "version", ...judgeVersion(subject, seen) },
    { id: "files", ...judgeFiles(subject, seen) },
    { id: "unit", ...judgeUnit(subject, seen) },
    { id: "steady", ...judgeSteady(subject, seen, first) },
    { id: "port", ...port },
    { id: "listeners", ...judgeListeners(subject, seen) },
    { id: "health", ...answers(() => judgeHealth(subject, seen.answers.health ?? 0)) },
    { id: "gate.none", ...answers(() => judgeClosed(subject, "no key", seen.answers.none ?? 0)) },
    { id: "gate.wrong", ...answers(() => judgeClosed(subject, "a wrong key", seen.answers.wrong ?? 0)) },
    { id: "gate.own", ...own },
    { id: "chat", ...chat() },
    ...judgeChannels(subject, seen),
    ...judgeServers(subject, seen),
  ];
}

/** What a person can type. */
export function fixes({ name, word, host, unit, manifest, version, adopted }: Subject) {
  return {
    again: `clm agent configure ${word}`,
    start: `clm agent start ${word}`,
    journal: `clm host exec ${host} --sudo -- journalctl -u ${unit} -n 50 --no-pager`,
    // What clm did not make it does not mend: such an agent is removed, and installed anew.
    install: adopted
      ? `clm agent remove ${word}`
      : `clm agent install --type ${manifest.type} --host ${host} --name ${name} --version ${version}`,
    otherPort: `clm agent configure ${word} --port auto`,
  };
}

function judgeVersion(subject: Subject, { version = "", account }: Seen): Verdict {
  const { install } = fixes(subject);
  const wanted = versionLine(subject);
  if (!account) return fail(`there is no user ${subject.user} on the host`, install);
  if (saysVersion(subject, version)) return ok(version);
  if (version === "") return fail(`${subject.places.launcher} does not tell its version`, install);
  return fail(`it says '${brief(version)}' and should say '${wanted}'`, install);
}

function judgeFiles(subject: Subject, { files }: Seen): Verdict {
  const { again } = fixes(subject);
  const wrong = privatePlaces(subject).flatMap(({ name, path, kind, mode }) => {
    const [isKind = "", owner, isMode] = (files[name] ?? "").split(":");
    if (isKind === "") return [`${path} is missing`];
    if (isKind.replace("regular empty file", "regular file") !== kind) return [`${path} is a ${isKind}`];
    if (owner !== subject.user) return [`${path} belongs to ${owner}`];
    const wanted = mode.toString(8);
    return isMode === wanted ? [] : [`${path} has mode 0${isMode} and should have 0${wanted}`];
  });
  return wrong.length > 0 ? fail(wrong.join("; "), again) : ok(".env and config.yaml are the agent's alone");
}

function judgeUnit(subject: Subject, { unit }: Seen): Verdict {
  const { start, journal, install } = fixes(subject);
  const { LoadState, ActiveState = "", SubState = "", Result, ExecMainStatus } = unit;
  if (LoadState === "not-found") return fail(`there is no unit ${subject.unit}`, install);
  if (ActiveState === "active" && SubState === "running") return ok(`${subject.unit} is active`);
  if (ActiveState === "inactive") return fail(`${subject.unit} is stopped`, start);
  const how = Result && Result !== "success" ? `, ${Result} ${ExecMainStatus}` : "";
  return fail(`${subject.unit} is ${ActiveState} (${SubState}${how})`, journal);
}

function judgeSteady(subject: Subject, seen: Seen, first: Seen): Verdict {
  const { journal } = fixes(subject);
  const restarts = restartsOf(seen);
  const since = restarts - restartsOf(first);
  if (since > 0) return fail(`restarted ${times(since)} while it was watched`, journal);
  if (seen.age === undefined) return needs("unit");
  const up = `up for ${span(seen.age)}`;
  if (seen.age < settled) return fail(`${up} only`, journal, "young");
  if (restarts === 0) return ok(`${up}, never restarted`);
  if (seen.age >= calm) return ok(`${up}, restarted ${times(restarts)} before that`);
  return { result: "warn", reason: `${up}, restarted ${times(restarts)} just before that`, fix: journal };
}

export const restartsOf = ({ unit }: Seen): number => Number(unit.NRestarts ?? 0);

export const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

export function span(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

function judgePort(subject: Subject, { listeners, strangers }: Seen): Verdict {
  const { port } = subject;
  const { journal, otherPort } = fixes(subject);
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
  if (open) return fail(`it listens on ${hostPart(open.address)}:${port}, not only on loopback`, fixes(subject).again);
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

function judgeHealth(subject: Subject, status: number): Verdict {
  const { health } = subject.manifest.api;
  return status === 200 ? ok(`${health} gave 200`) : fail(`${health} ${gave(status)}`, fixes(subject).journal);
}

function judgeClosed(subject: Subject, key: string, status: number): Verdict {
  const { models } = subject.manifest.api;
  if (status === 401) return ok(`${models} with ${key} gave 401`);
  const said = `${models} with ${key} ${gave(status)}, and should give 401`;
  return fail(status === 200 ? `the API is open: ${said}` : said, fixes(subject).again);
}

function judgeOwnKey(subject: Subject, status: number): Verdict {
  const { models } = subject.manifest.api;
  if (status === 200) return ok(`${models} with its own key gave 200`);
  if (status === 401) return fail(`it refuses its own key: ${models} gave 401`, fixes(subject).again);
  return fail(`${models} with its own key ${gave(status)}`, fixes(subject).journal);
}

/** One short line out of whatever somebody said. */
export function brief(text: string, longest = 160): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
