import { isAsIntended } from "../../agents/probe/status/judge.js";
import { Fault } from "../../errors.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { probeAgents } from "../../flows/fleet/probe-agents.js";
import { type Session, withSession } from "../../flows/session.js";
import type { Agent } from "../../state/agents.js";
import type { Context, Handler } from "../command.js";
import { chooseAgents, chooseAgentsOrAll } from "../run-on-agents.js";
import type { ps } from "./commands.js";
import { factsOf } from "./facts.js";
import { countText, fleetColumns, signsFor } from "./view.js";
import { watch } from "./watch.js";

/** Hosts probed at once. */
const parallel = 64;
/** Milliseconds to connect to a host, and to probe its agents: all other rows wait for it. */
export const connectTimeout = 8000;
const timeout = 16_000;

export const run: Handler<typeof ps> = async ({ args, options }, clm) => {
  const { noDrift } = options;
  const choose = () => chooseAgentsOrAll(clm, args.names, options);
  const setting = { ...clm, timeout: connectTimeout };
  if (options.watch || options.every !== undefined) {
    if (clm.format === "yaml" || clm.format === "name")
      throw new Fault("usage", `--watch prints a table or -o json, not -o ${clm.format}`);
    const every = (options.every ?? 5) * 1000;
    // Throws: an empty fleet cannot be watched.
    if (choose().length === 0) chooseAgents(clm, [], { ...options, all: true });
    return withSession(setting, (session) => watch(clm, session, { choose, every, drift: !noDrift, timeout }));
  }
  const agents = choose();
  const found = await withSession(setting, (session) => probeWith(clm, session, agents, !noDrift));
  clm.list(found, {
    columns: fleetColumns(found, { signs: signsFor(clm), now: clm.now() }),
    data: factsOf,
    name: ({ agent }) => agent.ref,
    empty: "No agents yet. Install one with: clm agent install --help",
  });
  return found.every(isAsIntended) ? 0 : 1;
};

/** Meanwhile shows a person which hosts have not answered. */
export async function probeWith(
  { ui }: Context,
  session: Session,
  agents: Agent[],
  drift: boolean,
): Promise<AgentStatus[]> {
  const waiting = new Set(agents.map(({ host }) => host.name));
  const progress =
    ui.interactive && agents.length > 0
      ? ui.progress(`ask ${waiting.size === 1 ? "1 host" : `${waiting.size} hosts`}`)
      : undefined;
  const doing = () =>
    progress?.update(`waiting for ${[...waiting].slice(0, 5).join(", ")}${waiting.size > 5 ? ", …" : ""}`);
  doing();
  try {
    const found = await probeAgents(session, agents, {
      parallel,
      drift,
      timeout,
      onHostDone: ({ name }) => {
        waiting.delete(name);
        doing();
      },
    });
    progress?.done(countText(found));
    return found;
  } catch (error) {
    progress?.fail();
    throw error;
  }
}
