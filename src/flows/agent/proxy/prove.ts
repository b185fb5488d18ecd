import { setTimeout as sleep } from "node:timers/promises";
import { isHeld } from "../../../agents/dashboard.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { brief, fixes } from "../../../agents/probe/proof/judge.js";
import type { ProxyObservation } from "../../../agents/proxy/probe.js";
import type { AgentProxy, ProxyType } from "../../../agents/proxy/proxy.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { Fault } from "../../../errors.js";
import type { Shell } from "../../../remote/process.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { probeProxy } from "./probe.js";

export interface Scene {
  root: Shell;
  resolved: ResolvedAgent;
  type: ProxyType;
  proxy: AgentProxy;
}

const pause = 300;

/** Waits until its own processes hold its port and it says that it has a login to lend. Gives back what it calls its upstream. */
export function mustAnswer(session: Session, scene: Scene): Promise<string | undefined> {
  const { root, resolved: agent, type, proxy } = scene;
  return step(session.ui, `prove that ${proxy.unit} answers`, async () => {
    const deadline = Date.now() + type.timeout;
    for (;;) {
      const seen = await probeProxy(session, root, agent, type, { port: proxy.port });
      if (isWell(seen)) return seen.says?.upstream;
      if (isOver(seen) || Date.now() > deadline) throw notWell(scene, seen);
      await sleep(pause, undefined, { signal: session.signal });
    }
  });
}

/** It is there for who asks it, and has something to lend. */
export const isWell = (seen: ProxyObservation): boolean => isHeld(seen) && seen.says?.authenticated === true;

/** What does not hold will not come to hold by waiting. */
const isOver = ({ unit: { ActiveState, SubState }, says }: ProxyObservation): boolean =>
  ActiveState === "failed" ||
  ActiveState === "inactive" ||
  SubState === "auto-restart" ||
  says?.authenticated === false;

/** Why it does not serve. */
export function notWell({ resolved: agent, proxy }: Pick<Scene, "resolved" | "proxy">, seen: ProxyObservation): Fault {
  const { name, ref, host } = agent;
  const trouble = proxyTrouble(agent, proxy, seen);
  const last = seen.words.filter((line) => line.trim() !== "" && !line.startsWith(`${proxy.unit}: `)).at(-1);
  const said = last ? [`it last said: ${brief(last)}`] : [];
  if (trouble) return trouble.with({ why: [...trouble.why, ...said] });
  const { health } = agent.manifest.proxy ?? {};
  return new Fault("check-failed", `the proxy of ${name} on ${host} does not serve`, {
    why: seen.says?.authenticated === false ? "it says that it is not logged in" : `${health} gave no answer`,
    next: [`clm agent proxy ${ref} enable --provider ${proxy.provider}`, fixes({ ...agent, unit: proxy.unit }).journal],
  });
}
