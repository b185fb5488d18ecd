import { compareVersions } from "../../manifest/versions.js";
import { type ResolvedAgent, startTimeout } from "../../plan/resolved-agent.js";
import { activeRuntime } from "../../plan/runtime.js";
import { brief, restartsOf } from "../proof/judge.js";
import type { Observation } from "../proof/observation.js";
import type { Proof } from "../proof/proof.js";
import type { Reach, StatusObservation } from "./observation.js";

/** The desired state: `rest` when clm stopped the agent, `nothing` when it is not configured yet. */
export type Intent = "run" | "rest" | "nothing";
/** Why an agent may refuse clm's key: there is none, or it is being replaced. */
export type KeyTrouble = "missing" | "changing";

/** Up for a short time, for the first time, and does not listen yet. */
export function isStarting(agent: ResolvedAgent, seen: Observation): boolean {
  const { age, listeners, unit } = seen;
  const young = age !== undefined && age * 1000 < startTimeout(agent);
  const isUp = unit.ActiveState === "active" || unit.ActiveState === "activating";
  return young && isUp && listeners.length === 0 && restartsOf(seen) === 0;
}

/** systemd may call an agent failed that had to be killed when it was stopped. */
export const isDownAsIntended = ({ unit }: Observation, wanted: Intent): boolean =>
  wanted !== "run" && unit.LoadState !== "not-found" && ["inactive", "failed"].includes(unit.ActiveState ?? "");

/** Why the host does not reach a provider; `whose` names it. */
function reachTrouble(reach: Reach | undefined, whose = "its provider"): string | undefined {
  if (!reach) return undefined;
  if ("trouble" in reach) return `${whose} cannot be reached from the host: ${reach.trouble}`;
  return reach.status >= 500 ? `${whose} answers ${reach.status}` : undefined;
}

/** Its own provider first, then those it can do without for a while. */
export const reachTroubles = ({ reach, others = {} }: Pick<StatusObservation, "reach" | "others">): string[] =>
  [
    reachTrouble(reach),
    ...Object.entries(others).map(([name, each]) => reachTrouble(each, `its provider ${name}`)),
  ].filter((text) => text !== undefined);

/** Why another program cannot run the agent's turns. */
export function runtimeTrouble(agent: ResolvedAgent, { runtime }: StatusObservation): string | undefined {
  const type = activeRuntime(agent);
  if (!runtime || !type) return undefined;
  const { title, program, min_version: minimum } = type;
  if (type.setting && runtime.setting !== type.setting)
    return `config.yaml does not select the ${title} runtime, but ${runtime.setting || "none"}`;
  if (runtime.version === "") return `the ${title} runtime needs ${program}, and none is on its PATH`;
  if (runtime.version === "unknown" || compareVersions(runtime.version, minimum) >= 0) return undefined;
  return `${title} ${runtime.version} is too old: the ${title} runtime needs ${minimum} or newer`;
}

/**
 * Processes of its user outside its units: not in its sandbox, and not ended by stopping it. The account of an adopted
 * agent may be a person's, who may run anything there.
 */
export function strayTrouble(
  { ref, adopted }: ResolvedAgent,
  { strays: { count, first } }: StatusObservation,
): string | undefined {
  if (count === 0 || adopted) return undefined;
  const named = first.slice(0, 2).map(({ pid, command }) => `${pid} ${brief(command)}`);
  const what = count === 1 ? "a process of its user runs" : `${count} processes of its user run`;
  return `${what} outside its unit (${[...named, ...(count > named.length ? ["…"] : [])].join(", ")}); ${strayFix(ref)}`;
}

export const strayFix = (ref: string): string => `clm agent stop ${ref} --strays`;

/** It refused its own key. */
export const refusesKey = ({ answers: { own } }: Observation): boolean => own === 401 || own === 403;

/** Refusing our key is not the agent's fault when there is none, or when it may have another. */
export function withKeyTrouble(
  { ref }: ResolvedAgent,
  seen: Observation,
  proofs: Proof[],
  key: KeyTrouble | undefined,
): Proof[] {
  const whys = { missing: "clm has no key for it", changing: "a change of its key is not finished" };
  if (!key || (key === "changing" && !refusesKey(seen))) return proofs;
  const fix = `clm agent rotate-key ${ref}`;
  return proofs.map((proof) =>
    proof.id === "auth.own-key" && proof.result !== "skipped"
      ? { ...proof, result: "fail", reason: `${whys[key]}; ${fix}`, fix }
      : proof,
  );
}
