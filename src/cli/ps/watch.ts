import { isFault } from "../../errors.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { type WatchOptions, watchAgents } from "../../flows/fleet/watch.js";
import type { Session } from "../../flows/session.js";
import type { AgentRef } from "../../names.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { jsonLine } from "../../ui/format.js";
import { oneLine } from "../../ui/plain.js";
import type { Context } from "../command.js";
import { channelsOf, driftOf, factsOf } from "./facts.js";
import { drawing } from "./screen.js";

export async function watch(
  clm: Context,
  session: Session,
  { choose, ...watching }: Pick<WatchOptions, "choose" | "every" | "drift" | "timeout">,
): Promise<number> {
  clm.untilStopped();
  const last = new Map<AgentRef, AgentStatus>();
  const show = clm.format === "table" && clm.screen ? drawing(clm, clm.screen, watching.every) : linesOn(clm);
  try {
    await watchAgents(session, {
      ...watching,
      // The last agent may be removed meanwhile.
      choose: () => {
        try {
          return choose();
        } catch (error) {
          if (isFault(error, "not-found")) return [];
          throw error;
        }
      },
      onRound: (agents) => {
        const existing = new Set(agents.map(hostAndName));
        for (const [key, { agent }] of last) {
          if (existing.has(key)) continue;
          last.delete(key);
          show.forget(agent);
        }
      },
      onStatuses: (statuses) => {
        for (const each of statuses) {
          const before = last.get(hostAndName(each.agent));
          last.set(hostAndName(each.agent), each);
          if (!before || hasChanged(before, each)) show.change(each, before);
        }
        show.probed([...last.values()]);
      },
    });
  } finally {
    show.end();
  }
  return 0;
}

export interface Show {
  change(now: AgentStatus, before: AgentStatus | undefined): void;
  /** The agent was removed. */
  forget(agent: Agent): void;
  /** A host was probed; `all` are the statuses of every agent. */
  probed(all: AgentStatus[]): void;
  end(): void;
}

/** Prints a line for each change. */
function linesOn({ ui, format, now }: Context): Show {
  const tell = (data: object, line: () => string) =>
    format === "json" ? ui.data(data, jsonLine) : ui.out(`${line()}\n`);
  return {
    change: (status, before) => void tell(factsOf(status), () => lineOf(status, before)),
    forget: (agent) => {
      const at = now().toISOString();
      const { host, name } = agent;
      const gone = { agent: agentId(agent), name, host: host.name, state: null, seen_at: at };
      tell(gone, () => `${at} ${hostAndName(agent)} is removed`);
    },
    probed: () => {},
    end: () => {},
  };
}

/** Ignores numbers within a reason, which grow by themselves: "up for 12 s". */
export const hasChanged = (before: AgentStatus, now: AgentStatus): boolean => comparable(before) !== comparable(now);

function comparable(status: AgentStatus): string {
  const { state, reason = "", drift, observation, wanted } = status;
  const { unit, version } = observation?.basics ?? {};
  const { connected, total } = channelsOf(status);
  return JSON.stringify([
    ...[state, wanted, reason.replace(/\d+/g, "0"), driftOf(drift), version],
    ...[unit?.MainPID, unit?.NRestarts, connected, total],
  ]);
}

/** `2026-01-02T03:04:05.000Z wolf-i/ada running -> failed: nothing listens on port 8642` */
export function lineOf({ agent, state, reason, at }: AgentStatus, before: AgentStatus | undefined): string {
  const change = before && before.state !== state ? `${before.state} -> ${state}` : state;
  return `${at} ${hostAndName(agent)} ${change}${reason ? `: ${oneLine(reason)}` : ""}`;
}
