import { type Check, checksFrom, fail, ok, skipped, type Verdict, warn } from "../check.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { activeRuntime } from "../plan/runtime.js";
import { channelsOff, lostServers } from "../probe/proof/connections.js";
import { brief, fixes, judge, restartsOf, span, times } from "../probe/proof/judge.js";
import { logCauseOf } from "../probe/proof/log-cause.js";
import { isOutside, type Proof } from "../probe/proof/proof.js";
import type { StatusObservation } from "../probe/status/observation.js";
import {
  type Intent,
  isDownAsIntended,
  isStarting,
  type KeyTrouble,
  reachTroubles,
  runtimeTrouble,
  strayFix,
  strayTrouble,
  withKeyTrouble,
} from "../probe/status/troubles.js";
import { judgeCauses, recognise } from "./causes.js";
import type { Clock, Symptoms } from "./symptoms.js";

export interface ExamineInput {
  resolved: ResolvedAgent;
  observation: StatusObservation;
  symptoms: Symptoms;
  clock?: Clock | undefined;
  /** Our clock, in milliseconds. */
  now: number;
  wanted: Intent;
  key?: KeyTrouble | undefined;
  proven?: { at: number; chat: boolean } | undefined;
  /** The recorded failure of the last question to its model. */
  unanswered?: string | undefined;
}

/** The checks that need the host; the others are in flows/doctor/recorded.ts. */
export function examine(input: ExamineInput): Check[] {
  const { resolved: agent, symptoms, clock, now } = input;
  const verdicts = {
    strays: judgeStrays(input),
    restarts: judgeRestarts(input),
    memory: judgeMemory(input),
    "provider.reach": judgeReach(input),
    runtime: judgeRuntime(input),
    ...judgeConnections(input),
    chat: judgeAnswer(input),
    disk: judgeDisk(input),
    clock: judgeClock(input),
    errors: judgeErrors(input),
  };
  const checks = [...proofsOf(input), ...checksFrom(verdicts)];
  // An agent that is down on purpose has nothing to explain.
  const words = isDownAsIntended(input.observation.basics, input.wanted) ? [] : symptoms.words;
  const at = now + (clock?.ahead ?? 0) * 1000;
  const causes = judgeCauses(agent, recognise(agent, words), { at, checks, proven: input.proven });
  const quiet: Check = { id: "log", result: "ok", reason: `nothing known in ${words.length} lines since its start` };
  return [...checks, ...(causes.length > 0 ? causes : [quiet])];
}

/** The proofs that cost no tokens. */
function proofsOf(input: ExamineInput): Check[] {
  const { resolved: agent, observation, wanted, key } = input;
  const proofs = withKeyTrouble(agent, observation.basics, judge(agent, observation.basics), key)
    .filter(({ id }) => !isOutside(id))
    .map((proof) => plainer(agent, proof))
    .map((proof) => (proof.id === "steady" && restartsOf(observation.basics) === 0 ? asStarting(proof) : proof));
  if (isDownAsIntended(observation.basics, wanted)) return proofs.map((proof) => asDown(input, proof));
  if (isStarting(agent, observation.basics)) return proofs.map(asStarting);
  if (wanted === "rest") return proofs.map((proof) => asUnwanted(input, proof));
  const down =
    proofs.some(({ id, result }) => id === "unit" && result === "fail") && observation.basics.listeners.length === 0;
  return down ? proofs.map((proof) => (proof.id === "port" ? { ...proof, ...skipped("needs unit") } : proof)) : proofs;
}

/** The agent's own log says more than the journal alone. */
const plainer = (agent: ResolvedAgent, proof: Proof): Proof =>
  proof.fix === fixes(agent).journal ? { ...proof, fix: logsOf(agent) } : proof;

function asDown({ wanted, observation }: ExamineInput, proof: Proof): Check {
  const { id, result, reason } = proof;
  if (id === "version" || id === "files" || result !== "fail") return proof;
  if (id === "unit") return { id, result: "ok", reason: wanted === "rest" ? `${reason}, as it should be` : reason };
  // Another process on its port would keep it from starting.
  return id === "port" && observation.basics.listeners.length > 0
    ? proof
    : { id, result: "skipped", reason: "it is stopped" };
}

const asUnwanted = ({ resolved: { ref } }: ExamineInput, proof: Proof): Check =>
  proof.id === "unit" && proof.result === "ok"
    ? { ...proof, result: "warn", reason: "it runs, though clm stopped it", fix: `clm agent start ${ref}` }
    : proof;

const asStarting = (proof: Proof): Proof =>
  proof.result === "fail" && !["version", "files", "unit"].includes(proof.id)
    ? { ...proof, result: "warn", reason: `${proof.reason}: it is starting` }
    : proof;

function judgeStrays({ resolved: agent, observation }: ExamineInput): Verdict {
  const reason = strayTrouble(agent, observation);
  return reason ? fail(reason, strayFix(agent.ref)) : ok("none");
}

/** Restarts from which on they are no accident. */
const tooMany = 5;

function judgeRestarts({ resolved: agent, observation: { basics: seen } }: ExamineInput): Verdict {
  const restarts = restartsOf(seen);
  if (restarts < tooMany) return ok(restarts === 0 ? "none" : times(restarts));
  return warn(`${times(restarts)} by itself`, logsOf(agent));
}

const logsOf = ({ ref }: ResolvedAgent): string => `clm agent logs ${ref} --level warning`;

function judgeMemory({ resolved: agent, observation, symptoms, clock, now }: ExamineInput): Verdict {
  const fix = `clm host check ${agent.host}`;
  if (observation.basics.unit.Result === "oom-kill") return fail("the system killed it: out of memory", fix);
  if (symptoms.outOfMemory === undefined) return ok("no out-of-memory kill");
  const ago = span(Math.max(0, now / 1000 + (clock?.ahead ?? 0) - symptoms.outOfMemory / 1000));
  return warn(`the system killed it or one of its processes ${ago} ago: out of memory`, fix);
}

/** An agent cannot do without its own provider; without the others it can, for a while. */
function judgeReach({ resolved: agent, observation }: ExamineInput): Verdict | undefined {
  const reason = reachTroubles(observation).join("; ");
  if (!reason) return observation.reach && ok("its provider answers");
  const judge = observation.reach && "trouble" in observation.reach ? fail : warn;
  return judge(reason, `clm agent configure ${agent.ref} --stage providers`);
}

function judgeRuntime({ resolved: agent, observation }: ExamineInput): Verdict | undefined {
  if (!observation.runtime) return undefined;
  const reason = runtimeTrouble(agent, observation);
  if (reason === undefined) return ok(`${activeRuntime(agent)?.title} ${observation.runtime.version}`);
  const fix =
    observation.runtime.version === "" ? `clm agent runtime status ${agent.ref}` : `clm agent sync ${agent.ref}`;
  return fail(reason, fix);
}

function judgeConnections({ resolved: agent, observation: { basics: seen } }: ExamineInput): Record<string, Verdict> {
  const fix = `clm agent configure ${agent.ref} --stage channels`;
  const down = seen.age === undefined ? skipped("it does not run") : undefined;
  const off = new Map(channelsOff(agent, seen).map((each) => [each.name, each]));
  const lost = new Map(lostServers(agent, seen).map((each) => [each.name, each]));
  const channel = (name: string): Verdict => {
    const found = off.get(name);
    if (!found) return ok("connected");
    if (isStarting(agent, seen)) return warn("not connected yet: it is starting");
    return (found.isPairing ? warn : fail)(`it is ${found.how}`, fix);
  };
  const server = (name: string): Verdict => {
    const found = lost.get(name);
    return found ? fail(brief(found.why), fix) : ok("not given up");
  };
  return Object.fromEntries([
    ...agent.channels.map((name) => [`channel.${name}`, down ?? channel(name)]),
    ...agent.servers.map((name) => [`mcp.${name}`, down ?? server(name)]),
  ]);
}

/** The doctor does not ask the model; that it did not answer is known from the last proof. */
const judgeAnswer = ({ resolved: { ref }, unanswered }: ExamineInput): Verdict | undefined =>
  unanswered ? fail(unanswered, `clm agent configure ${ref} --stage validate`) : undefined;

const kilobytesPerMegabyte = 1024;

function judgeDisk({ resolved: agent, observation: { full, space } }: ExamineInput): Verdict {
  const fix = `clm host exec ${agent.host} -- df -h ${agent.paths.home}`;
  if (full === "inodes") return fail("its disk has no inodes left", fix);
  if (full === "blocks") return fail("its disk is full", fix);
  if (!space) return skipped("could not be seen");
  const seen = `${Math.floor(space.free / kilobytesPerMegabyte)} MB free in its home directory`;
  if (space.free < 200 * kilobytesPerMegabyte) return fail(seen, fix);
  if (space.inodes > 0 && space.freeInodes < space.inodes / 100)
    return warn(`${space.freeInodes} of ${space.inodes} inodes left in its home directory`, fix);
  return space.free < 1024 * kilobytesPerMegabyte ? warn(seen, fix) : ok(seen);
}

/** Seconds a clock may be wrong before services notice, and before they refuse. */
const [noticed, refused] = [60, 300];

function judgeClock({ resolved: agent, clock }: ExamineInput): Verdict | undefined {
  if (!clock) return undefined;
  const off = Math.abs(clock.ahead);
  const sure = Math.max(0, off - clock.within);
  const within = `to within ${clock.within < 1 ? "a second" : `${Math.ceil(clock.within)} s`}`;
  if (sure <= 2) return ok(`agrees with ours, ${within}`);
  const reason = `${Math.round(off)} s ${clock.ahead > 0 ? "ahead of" : "behind"} ours, ${within}`;
  if (sure <= noticed) return ok(reason);
  return (sure > refused ? fail : warn)(reason, `clm host exec ${agent.host} --sudo -- timedatectl set-ntp true`);
}

/** The last line of level ERROR, for an hour; a line with a known cause has a check of its own. */
function judgeErrors({ resolved: agent, symptoms, clock, now }: ExamineInput): Verdict {
  const last = symptoms.words.findLast(({ level, text }) => level === "error" && !logCauseOf(agent, [text]));
  if (!last) return ok("no unexplained error since it started");
  const ago = Math.max(0, now / 1000 + (clock?.ahead ?? 0) - last.at / 1000);
  const reason = `${span(ago)} ago: ${brief(last.text)}`;
  return ago > 3600 ? ok(reason) : warn(reason, logsOf(agent));
}
