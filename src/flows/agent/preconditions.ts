import { isLoopback } from "../../agents/probe/proof/addresses.js";
import { judge } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import type { Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import type { Shell } from "../../remote/process.js";
import { sharedShell } from "../../remote/shared-shell.js";
import { type Agent, agentId } from "../../state/agents.js";
import { mustPass } from "../checks-failed.js";
import type { Session } from "../session.js";
import { apiKeyOf, keyRefOf, mustHaveOneKey } from "./api-key.js";
import { observe } from "./observe.js";
import { resolve } from "./target.js";

export function mustBeInstalled(agent: Agent): void {
  const { name, host, record } = agent;
  if (record.status === "installing") {
    throw new Fault("not-ready", `${agentId(agent)} is not installed yet`, {
      why: "its installation was interrupted",
      next: `clm agent install --host ${host.name} --name ${name}`,
    });
  }
  if (record.status === "removing") {
    throw new Fault("not-ready", `${agentId(agent)} is being removed`, {
      next: `clm agent remove ${agent.ref}`,
    });
  }
}

export const isConfigured = ({ record }: Agent): boolean => record.rendered !== undefined;

export function mustBeConfigured(agent: Agent): void {
  if (isConfigured(agent)) return;
  throw new Fault("not-ready", `${agentId(agent)} has not been configured yet`, {
    next: `clm agent configure ${agent.ref}`,
  });
}

export function mustBeReady(agent: Agent, verb: "start" | "restart"): void {
  const { state } = agent.record.onboarding;
  if (state === "ready") return;
  const what = `Cannot ${verb} ${agentId(agent)}: onboarding incomplete (state=${state}).`;
  throw new Fault("not-ready", `${what} Run 'clm agent configure ${agent.name}' first.`, {
    next: `clm agent configure ${agent.ref}`,
    data: { state },
  });
}

export async function mustBeRunnable(
  session: Session,
  agent: Agent,
): Promise<{ root: Shell; observation: Observation }> {
  const resolved = await resolve(session, agent);
  const keyRef = keyRefOf(agent, resolved.manifest);
  mustHaveOneKey(session, keyRef);
  const { key } = apiKeyOf(session, keyRef);
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const observation = await observe(root, resolved, key, {}, session.signal);
  const must: RequiredProofs = {
    version: true,
    files: true,
    unit: observation.unit.LoadState === "not-found",
    port: observation.listeners.some(({ own }) => !own),
  };
  const needed = judge(resolved, observation).filter(({ id }) => must[id]);
  mustHold(needed, `${agentId(agent)} cannot run`);
  return { root, observation };
}

type RequiredProofs = Partial<Record<Proof["id"], boolean>>;

/** With --force the agent may be unable to answer, but its API must not be open. */
export function requiredWithForce(proofs: Proof[], { answers, listeners }: Observation): Proof[] {
  const answered = (status = 0) => status !== 0;
  const must: RequiredProofs = {
    unit: true,
    steady: true,
    port: listeners.some(({ own, address }) => own && !isLoopback(address)),
    listeners: true,
    "auth.no-key": answered(answers.none),
    "auth.wrong-key": answered(answers.wrong),
  };
  return proofs.filter(({ id }) => must[id]);
}

export const mustHold = (proofs: Proof[], what: string): void => mustPass(proofs, what, { as: "proofs" });
