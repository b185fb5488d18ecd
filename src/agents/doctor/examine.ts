import type { Check } from "../check.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { activeRuntime } from "../plan/runtime.js";
import { causeOf } from "../probe/proof/cause.js";
import { channelTrouble, lostServers } from "../probe/proof/connections.js";
import { brief, judge, restartsOf, span, times } from "../probe/proof/judge.js";
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

/** Everything that is known of an agent when the doctor judges it. */
export interface ExamineInput {
  resolved: ResolvedAgent;
  sight: StatusObservation;
  symptoms: Symptoms;
  clock?: Clock | undefined;
  /** Our clock, in milliseconds. */
  now: number;
  wanted: Intent;
  key?: KeyTrouble | undefined;
  proven?: { at: number; chat: boolean } | undefined;
  /** What is recorded of the last time its model was asked, when that failed. */
  unanswered?: string | undefined;
}

/** What the doctor finds on the host. What is known without asking the host is checked elsewhere. */
export function examine(patient: ExamineInput): Check[] {
  const { resolved: agent, symptoms, clock, now } = patient;
  const checks = [
    ...proofsOf(patient),
    judgeStrays(patient),
    judgeRestarts(patient),
    judgeMemory(patient),
    ...judgeReach(patient),
    ...judgeRuntime(patient),
    ...judgeChannels(patient),
    ...judgeServers(patient),
    ...judgeAnswer(patient),
    judgeDisk(patient),
    ...judgeClock(patient),
    judgeErrors(patient),
  ];
  // Whoever is down as it should be has nothing to explain.
  const words = isDownAsIntended(patient.sight.basics, patient.wanted) ? [] : symptoms.words;
  const at = now + (clock?.ahead ?? 0) * 1000;
  const causes = judgeCauses(agent, recognise(agent, words), { at, checks, proven: patient.proven });
  const quiet: Check = { id: "log", result: "ok", reason: `nothing known in ${words.length} lines since its start` };
  return [...checks, ...(causes.length > 0 ? causes : [quiet])];
}

/** The proofs, but for the one that costs tokens. */
function proofsOf(patient: ExamineInput): Check[] {
  const { resolved: agent, sight, wanted, key } = patient;
  const proofs = withKeyTrouble(agent, sight.basics, judge(agent, sight.basics), key)
    .filter(({ id }) => !isOutside(id))
    .map((proof) => plainer(agent, proof))
    .map((proof) => (proof.id === "steady" && restartsOf(sight.basics) === 0 ? asStarting(proof) : proof));
  if (isDownAsIntended(sight.basics, wanted)) return proofs.map((proof) => asDown(patient, proof));
  if (isStarting(agent, sight.basics)) return proofs.map(asStarting);
  if (wanted === "rest") return proofs.map((proof) => asUnwanted(patient, proof));
  const down =
    proofs.some(({ id, result }) => id === "unit" && result === "fail") && sight.basics.listeners.length === 0;
  return down ? proofs.map((proof) => (proof.id === "port" ? { ...proof, ...needsUnit } : proof)) : proofs;
}

const needsUnit = { result: "skipped", reason: "needs unit" } as const;

/** The agent's own log says more than the journal alone. */
const plainer = (agent: ResolvedAgent, proof: Proof): Proof =>
  proof.fix?.includes(" journalctl ") ? { ...proof, fix: logsOf(agent) } : proof;

function asDown({ wanted, sight }: ExamineInput, proof: Proof): Check {
  const { id, result, reason } = proof;
  if (id === "version" || id === "files" || result !== "fail") return proof;
  if (id === "unit") return { id, result: "ok", reason: wanted === "rest" ? `${reason}, as it should be` : reason };
  // Whoever has its port keeps it from starting.
  return id === "port" && sight.basics.listeners.length > 0
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

function judgeStrays({ resolved: agent, sight }: ExamineInput): Check {
  const id = "strays";
  const reason = strayTrouble(agent, sight);
  return reason ? { id, result: "fail", reason, fix: strayFix(agent.ref) } : { id, result: "ok", reason: "none" };
}

/** So many restarts are not a mishap any more. */
const tooMany = 5;

function judgeRestarts({ resolved: agent, sight: { basics: seen } }: ExamineInput): Check {
  const restarts = restartsOf(seen);
  const id = "restarts";
  if (restarts < tooMany) return { id, result: "ok", reason: restarts === 0 ? "none" : times(restarts) };
  return { id, result: "warn", reason: `${times(restarts)} by itself`, fix: logsOf(agent) };
}

const logsOf = ({ ref }: ResolvedAgent): string => `clm agent logs ${ref} --level warning`;

function judgeMemory({ resolved: agent, symptoms, clock, now }: ExamineInput): Check {
  const id = "memory";
  const fix = `clm host check ${agent.host}`;
  if (symptoms.result === "oom-kill")
    return { id, result: "fail", reason: "the system ended it for want of memory", fix };
  if (symptoms.outOfMemory === undefined) return { id, result: "ok", reason: "was not ended for want of memory" };
  const ago = span(Math.max(0, now / 1000 + (clock?.ahead ?? 0) - symptoms.outOfMemory / 1000));
  return { id, result: "warn", reason: `the system ended it or a process of it for want of memory ${ago} ago`, fix };
}

/** Its own provider it cannot do without; the others it can, for a while. */
function judgeReach({ resolved: agent, sight }: ExamineInput): Check[] {
  const id = "provider.reach";
  const fix = `clm agent configure ${agent.ref} --stage providers`;
  const reason = reachTroubles(sight).join("; ");
  if (reason) return [{ id, result: sight.reach && "trouble" in sight.reach ? "fail" : "warn", reason, fix }];
  return sight.reach ? [{ id, result: "ok", reason: "its provider answers" }] : [];
}

function judgeRuntime({ resolved: agent, sight }: ExamineInput): Check[] {
  if (!sight.runtime) return [];
  const id = "runtime";
  const reason = runtimeTrouble(agent, sight);
  if (reason === undefined)
    return [{ id, result: "ok", reason: `${activeRuntime(agent)?.title} ${sight.runtime.version}` }];
  const fix = sight.runtime.version === "" ? `clm agent runtime status ${agent.ref}` : `clm agent sync ${agent.ref}`;
  return [{ id, result: "fail", reason, fix }];
}

/** Only those that it was configured to have. */
function judgeChannels({ resolved: agent, sight }: ExamineInput): Check[] {
  const fix = `clm agent configure ${agent.ref} --stage channels`;
  return agent.channels.map((name): Check => {
    const id = `channel.${name}`;
    if (sight.basics.age === undefined) return { id, result: "skipped", reason: "it does not run" };
    const how = channelTrouble(sight.channels, name);
    if (how === undefined) return { id, result: "ok", reason: "connected" };
    if (isStarting(agent, sight.basics)) return { id, result: "warn", reason: "not connected yet: it is starting" };
    const result = agent.manifest.channels[name]?.pairing ? "warn" : "fail";
    return { id, result, reason: `it is ${how}`, fix };
  });
}

/** Only those that it was configured to have. */
function judgeServers({ resolved: agent, sight }: ExamineInput): Check[] {
  const fix = `clm agent configure ${agent.ref} --stage channels`;
  const lost = lostServers(agent, sight.basics);
  return agent.servers.map((name): Check => {
    const id = `mcp.${name}`;
    if (sight.basics.age === undefined) return { id, result: "skipped", reason: "it does not run" };
    const found = lost.find((each) => each.name === name);
    return found ? { id, result: "fail", reason: brief(found.why), fix } : { id, result: "ok", reason: "not given up" };
  });
}

/** The model is not asked by the doctor; that it did not answer is known from the last proof. */
function judgeAnswer({ resolved: { ref }, unanswered }: ExamineInput): Check[] {
  if (!unanswered) return [];
  return [{ id: "chat", result: "fail", reason: unanswered, fix: `clm agent configure ${ref} --stage validate` }];
}

const megabyte = 1024;

function judgeDisk({ resolved: agent, sight, symptoms: { space } }: ExamineInput): Check {
  const id = "disk";
  const fix = `clm host exec ${agent.host} -- df -h ${agent.paths.home}`;
  if (sight.full === "inodes") return { id, result: "fail", reason: "its disk has no inodes left", fix };
  if (sight.full === "blocks") return { id, result: "fail", reason: "its disk is full", fix };
  if (!space) return { id, result: "skipped", reason: "could not be seen" };
  const seen = `${Math.floor(space.free / megabyte)} MB free where it lives`;
  if (space.free < 200 * megabyte) return { id, result: "fail", reason: seen, fix };
  if (space.inodes > 0 && space.freeInodes < space.inodes / 100)
    return { id, result: "warn", reason: `${space.freeInodes} of ${space.inodes} inodes left where it lives`, fix };
  return space.free < 1024 * megabyte ? { id, result: "warn", reason: seen, fix } : { id, result: "ok", reason: seen };
}

/** Seconds a clock may be wrong before services notice, and before they refuse. */
const [noticed, refused] = [60, 300];

function judgeClock({ resolved: agent, clock }: ExamineInput): Check[] {
  if (!clock) return [];
  const id = "clock";
  const off = Math.abs(clock.ahead);
  const sure = Math.max(0, off - clock.within);
  const within = `to within ${clock.within < 1 ? "a second" : `${Math.ceil(clock.within)} s`}`;
  if (sure <= 2) return [{ id, result: "ok", reason: `agrees with ours, ${within}` }];
  const reason = `${Math.round(off)} s ${clock.ahead > 0 ? "ahead of" : "behind"} ours, ${within}`;
  if (sure <= noticed) return [{ id, result: "ok", reason }];
  const fix = `clm host exec ${agent.host} --sudo -- timedatectl set-ntp true`;
  return [{ id, result: sure > refused ? "fail" : "warn", reason, fix }];
}

/** The last line of level ERROR. Told for an hour; what is known to go wrong is told by itself. */
function judgeErrors({ resolved: agent, symptoms, clock, now }: ExamineInput): Check {
  const id = "errors";
  const last = symptoms.words.findLast(({ level, text }) => level === "error" && !causeOf(agent, [text]));
  if (!last) return { id, result: "ok", reason: "none since its start that is not known" };
  const ago = Math.max(0, now / 1000 + (clock?.ahead ?? 0) - last.at / 1000);
  const reason = `${span(ago)} ago: ${brief(last.text)}`;
  return ago > 3600 ? { id, result: "ok", reason } : { id, result: "warn", reason, fix: logsOf(agent) };
}
