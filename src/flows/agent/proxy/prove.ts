import { setTimeout as sleep } from "node:timers/promises";
import { isHeld } from "../../../agents/dashboard.js";
import { brief, fixes } from "../../../agents/proof/judge.js";
import type { AgentProxy, ProxyType } from "../../../agents/proxy/proxy.js";
import type { ProxySeen } from "../../../agents/proxy/seen.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import type { Subject } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import type { Shell } from "../../../remote/process.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { lookAtProxy } from "./look.js";

export interface Scene {
  root: Shell;
  subject: Subject;
  type: ProxyType;
  proxy: AgentProxy;
}

const pause = 300;

/** Waits until its own processes hold its port and it says that it has a login to lend. Gives back what it calls its upstream. */
export function mustAnswer(session: Session, scene: Scene): Promise<string | undefined> {
  const { root, subject, type, proxy } = scene;
  return step(session.ui, `prove that ${proxy.unit} answers`, async () => {
    const deadline = Date.now() + type.patience;
    for (;;) {
      const seen = await lookAtProxy(session, root, subject, type, { port: proxy.port });
      if (isWell(seen)) return seen.says?.upstream;
      if (isOver(seen) || Date.now() > deadline) throw notWell(scene, seen);
      await sleep(pause, undefined, { signal: session.signal });
    }
  });
}

/** It is there for who asks it, and has something to lend. */
export const isWell = (seen: ProxySeen): boolean => isHeld(seen) && seen.says?.authenticated === true;

/** What does not hold will not come to hold by waiting. */
const isOver = ({ unit: { ActiveState, SubState }, says }: ProxySeen): boolean =>
  ActiveState === "failed" ||
  ActiveState === "inactive" ||
  SubState === "auto-restart" ||
  says?.authenticated === false;

/** Why it does not serve. */
export function notWell({ subject, proxy }: Pick<Scene, "subject" | "proxy">, seen: ProxySeen): Fault {
  const { name, word, host } = subject;
  const trouble = proxyTrouble(subject, proxy, seen);
  const last = seen.words.filter((line) => line.trim() !== "" && !line.startsWith(`${proxy.unit}: `)).at(-1);
  const said = last ? [`it last said: ${brief(last)}`] : [];
  if (trouble) {
    const { fault, message, why, next, data } = trouble;
    return new Fault(fault, message, { why: [...why, ...said], next, data });
  }
  const { health } = subject.manifest.proxy ?? {};
  return new Fault("check-failed", `the proxy of ${name} on ${host} does not serve`, {
    why: seen.says?.authenticated === false ? "it says that it is not logged in" : `${health} gave no answer`,
    next: [
      `clm agent proxy ${word} enable --provider ${proxy.provider}`,
      fixes({ ...subject, unit: proxy.unit }).journal,
    ],
  });
}
