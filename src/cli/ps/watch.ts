import { isFault } from "../../errors.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { type WatchOptions, watchAgents } from "../../flows/fleet/watch.js";
import type { Session } from "../../flows/session.js";
import type { AgentRef } from "../../names.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { jsonLine } from "../../ui/format.js";
import type { Context } from "../command.js";
import { hasChanged, lineOf } from "./changes.js";
import { factsOf } from "./facts.js";
import { drawing } from "./screen.js";

export async function watch(
  clm: Context,
  session: Session,
  { choose, ...watching }: Pick<WatchOptions, "choose" | "every" | "drift" | "timeout">,
): Promise<number> {
  clm.untilStopped();
  const known = new Map<AgentRef, AgentStatus>();
  const show = clm.format === "table" && clm.screen ? drawing(clm, clm.screen, watching.every) : telling(clm);
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
      round: (agents) => {
        const there = new Set(agents.map(hostAndName));
        for (const [key, { agent }] of known) {
          if (there.has(key)) continue;
          known.delete(key);
          show.forget(agent);
        }
      },
      tell: (_host, found) => {
        for (const each of found) {
          const before = known.get(hostAndName(each.agent));
          known.set(hostAndName(each.agent), each);
          if (!before || hasChanged(before, each)) show.change(each, before);
        }
        show.looked([...known.values()]);
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
  looked(all: AgentStatus[]): void;
  end(): void;
}

function telling({ ui, format, now }: Context): Show {
  const tell = (data: object, line: () => string) =>
    format === "json" ? ui.data(data, jsonLine) : ui.out(`${line()}\n`);
  return {
    change: (found, before) => void tell(factsOf(found), () => lineOf(found, before)),
    forget: (agent) => {
      const at = now().toISOString();
      const { host, name, record } = agent;
      const gone = { agent: `${host.name}:${record.type}:${name}`, name, host: host.name, state: null, seen_at: at };
      tell(gone, () => `${at} ${host.name}/${name} is removed`);
    },
    looked: () => {},
    end: () => {},
  };
}
