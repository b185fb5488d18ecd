import { atMost } from "../../async/limit.js";
import { asFault, Fault } from "../../errors.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { withMembers } from "../../text/with-members.js";
import type { Question, Ui } from "../../ui/ui.js";
import type { Session } from "../session.js";

export interface Outcome<T> {
  agent: Agent;
  /** `not-begun` after too many failures, or when interrupted. */
  result: "ok" | "failed" | "not-begun";
  value?: T;
  fault?: Fault;
}

export interface Pace {
  /** Agents at once. */
  parallel: number;
  /** Stop after this many failures. */
  maxFail?: number | undefined;
  /** The first agent goes alone, before the others. */
  canary?: boolean;
}

/** A failure does not stop the others. */
export function forEachAgent<T>(
  session: Session,
  agents: readonly Agent[],
  { parallel, maxFail = Number.POSITIVE_INFINITY, canary = false }: Pace,
  work: (session: Session, agent: Agent) => Promise<T>,
): Promise<Outcome<T>[]> {
  let failures = 0;

  async function one(agent: Agent): Promise<Outcome<T>> {
    if (failures >= maxFail || session.signal.aborted) return { agent, result: "not-begun" };
    try {
      const ui = uiFor(session.ui, hostAndName(agent));
      return { agent, result: "ok", value: await work({ ...session, ui }, agent) };
    } catch (error) {
      failures++;
      return { agent, result: "failed", fault: asFault(error) };
    }
  }

  const [first, ...others] = agents;
  if (!canary || !first) return Promise.all(atMost(parallel, agents, one));
  return one(first).then(async (outcome) => [outcome, ...(await Promise.all(atMost(parallel, others, one)))]);
}

/** Prefixes every line with the agent, and refuses prompts: several agents could prompt at once. */
function uiFor(ui: Ui, whom: string): Ui {
  const about = (text: string) => `${whom}: ${text}`;
  return withMembers(ui, {
    interactive: false,
    note: (text: string) => ui.note(about(text)),
    warn: (text: string) => ui.warn(about(text)),
    progress: (title: string) => ui.progress(about(title)),
    confirm: refusePrompt,
    ask: refusePrompt,
    choose: refusePrompt,
    askSecret: refusePrompt,
  });
}

const refusePrompt = async ({ message, flag }: Question): Promise<never> => {
  throw new Fault("needs-answer", `clm does not prompt for several agents at once: ${message}`, {
    why: `${flag} answers it`,
    flag,
  });
};
