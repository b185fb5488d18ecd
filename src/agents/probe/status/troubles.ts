import { compareVersions } from "../../manifest/versions.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { activeRuntime } from "../../plan/runtime.js";
import { brief, restartsOf } from "../proof/judge.js";
import type { Observation } from "../proof/observation.js";
import type { Proof } from "../proof/proof.js";
import type { Reach, StatusObservation } from "./observation.js";

/** What is wanted of an agent: `rest` when clm stopped it, `nothing` when it is not configured yet. */
export type Intent = "run" | "rest" | "nothing";

/** Why an agent may not answer the key that clm asks with: there is none, or another is being put in its place. */
export type KeyTrouble = "missing" | "changing";

/** Up for a short time, for the first time, and does not listen yet. */
export function isStarting({ manifest }: ResolvedAgent, seen: Observation): boolean {
  const { age, listeners, unit } = seen;
  const young = age !== undefined && age * 1000 < manifest.api.timeout.start;
  const isUp = unit.ActiveState === "active" || unit.ActiveState === "activating";
  return young && isUp && listeners.length === 0 && restartsOf(seen) === 0;
}

/** One that systemd calls failed may be one that was stopped the hard way. */
export const isDownAsIntended = ({ unit }: Observation, wanted: Intent): boolean =>
  wanted !== "run" && unit.LoadState !== "not-found" && ["inactive", "failed"].includes(unit.ActiveState ?? "");

/** What is wrong with the way from its host to a provider; `whose` is who that is. */
function reachTrouble(reach: Reach | undefined, whose = "its provider"): string | undefined {
  if (!reach) return undefined;
  if ("trouble" in reach) return `${whose} cannot be reached from the host: ${reach.trouble}`;
  return reach.status >= 500 ? `${whose} answers ${reach.status}` : undefined;
}

/** The same of all its providers: its own first, and then those it can do without for a while. */
export const reachTroubles = ({ reach, others = {} }: Pick<StatusObservation, "reach" | "others">): string[] =>
  [
    reachTrouble(reach),
    ...Object.entries(others).map(([name, each]) => reachTrouble(each, `its provider ${name}`)),
  ].filter((text) => text !== undefined);

/** What keeps another program from running the turns of an agent that is to run on it. */
export function runtimeTrouble(agent: ResolvedAgent, { runtime }: StatusObservation): string | undefined {
  const type = activeRuntime(agent);
  if (!runtime || !type) return undefined;
  const { title, program, least } = type;
  if (type.setting && runtime.setting !== type.setting)
    return `config.yaml does not select the ${title} runtime, but ${runtime.setting || "none"}`;
  if (runtime.version === "") return `the ${title} runtime needs ${program}, and none is on its PATH`;
  if (runtime.version === "unknown" || compareVersions(runtime.version, least) >= 0) return undefined;
  return `${title} ${runtime.version} is too old: the ${title} runtime needs ${least} or newer`;
}

/**
 * What runs of its user outside its units: not in its sandbox, and not ended by stopping it. The account of an agent that was taken over
 * may be a person's, who may run there what they like.
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

/** It was asked with its own key, and did not let us in. */
export const refusesKey = ({ answers: { own } }: Observation): boolean => own === 401 || own === 403;

/** That an agent does not answer our key is no fault of its own when there is none, or when it may have another. */
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
