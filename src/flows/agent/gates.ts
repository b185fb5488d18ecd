import { isLoopback, judge } from "../../agents/proof/judge.js";
import type { Seen } from "../../agents/proof/seen.js";
import { loadType } from "../../agents/registry.js";
import { subjectOf } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import { inOneShell } from "../../remote/one-shell.js";
import type { Shell } from "../../remote/process.js";
import { type Agent, instanceOf, titleOf } from "../../state/agents.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveOneKey } from "./api-key.js";
import { observe } from "./observe.js";
import type { Proof } from "./prove.js";

/** Only an agent that is all there is started or stopped. */
export function mustBeInstalled(agent: Agent): void {
  const { name, host, record } = agent;
  if (record.status === "installing") {
    throw new Fault("not-ready", `${titleOf(agent)} is not installed yet`, {
      why: "its installation was begun and did not come to its end",
      next: `clm agent install --host ${host.name} --name ${name}`,
    });
  }
  if (record.status === "removing") {
    throw new Fault("not-ready", `${titleOf(agent)} is being removed`, {
      next: `clm agent remove ${agent.word}`,
    });
  }
}

/** Until onboarding is complete an agent is not started, unless somebody insists. */
export function mustBeReady(agent: Agent, verb: "start" | "restart"): void {
  const { state } = agent.record.onboarding;
  if (state === "ready") return;
  throw new Fault(
    "not-ready",
    `Cannot ${verb} ${titleOf(agent)}: onboarding incomplete (state=${state}). ` +
      `Run 'clm agent configure ${agent.name}' first.`,
    { next: `clm agent configure ${agent.word}`, data: { state } },
  );
}

/** Sees that everything an agent needs to run is on its host; then gives back what was seen, and the shell to go on in. */
export async function mustBeRunnable(session: Session, agent: Agent): Promise<{ root: Shell; seen: Seen }> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  const place = { instance: instanceOf(agent), name: manifest.api.secret };
  mustHaveOneKey(session, place, agent.word);
  const { key } = apiKeyOf(session, place);
  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  const seen = await observe(root, subject, key, {}, session.signal);
  const isTaken = seen.listeners.some(({ own }) => !own);
  const needed = judge(subject, seen).filter(
    ({ id }) =>
      id === "version" ||
      id === "files" ||
      (id === "unit" && seen.unit.LoadState === "not-found") ||
      (id === "port" && isTaken),
  );
  mustHold(needed, `${titleOf(agent)} cannot run`);
  return { root, seen };
}

/**
 * What must hold of an agent that is started by force. It may have nothing to answer with; but one that lets everybody
 * in is never told to be well.
 */
export function evenByForce(proofs: Proof[], { answers, listeners }: Seen): Proof[] {
  const answered = (status = 0) => status !== 0;
  const must: Partial<Record<Proof["id"], boolean>> = {
    unit: true,
    steady: true,
    port: listeners.some(({ own, address }) => own && !isLoopback(address)),
    listeners: true,
    "gate.none": answered(answers.none),
    "gate.wrong": answered(answers.wrong),
  };
  return proofs.filter(({ id }) => must[id]);
}

/** Throws with every proof that does not hold. */
export function mustHold(proofs: Proof[], what: string): void {
  const failed = proofs.filter(({ result }) => result === "fail");
  if (failed.length === 0) return;
  throw new Fault("check-failed", what, {
    why: failed.map(({ id, reason }) => `${id}: ${reason}`),
    next: [...new Set(failed.flatMap(({ fix }) => fix ?? []))],
    data: { proofs },
  });
}
