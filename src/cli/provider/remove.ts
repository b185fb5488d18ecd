import { Fault } from "../../errors.js";
import type { Session } from "../../flows/session.js";
import { type Agent, agentId } from "../../state/agents.js";
import { findProvider } from "../../state/providers.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";
import { configureLine, setBack, usersOf } from "./users.js";

export const run: Handler<typeof remove> = async ({ args: { name }, options: { force } }, clm) => {
  await clm.withSession(async (session) => {
    const { agents, hasKey } = await removeProvider(session, name, force);
    if (clm.dryRun) {
      for (const agent of agents) clm.ui.note(`would leave ${agentId(agent)} without a provider`);
      return;
    }
    clm.ui.note(`removed ${name}${hasKey ? " and its keys" : ""}`);
    for (const agent of agents) {
      const left = hasKey ? `the key of ${name}` : `${name} in its files`;
      const next = `${configureLine(agent)} --stage providers`;
      clm.ui.note(`${agent.name} still has ${left} on ${agent.host.name}; choose another provider: ${next}`);
    }
  });
};

/** Removes the provider and its secrets; returns the agents that used it. */
async function removeProvider(
  session: Session,
  name: string,
  force: boolean,
): Promise<{ agents: Agent[]; hasKey: boolean }> {
  const { type, references = {} } = findProvider(session.providers.read(), name);
  const agents = usersOf(session.hosts.read(), name);
  if (!force) mustBeUnused(name, agents);
  const keys = [...session.secrets.names({ provider: name }), ...Object.keys(references)];
  const hasKey = keys.length > 0;
  const action = {
    verb: "provider remove",
    target: name,
    summary: `forget provider ${name}${hasKey ? ` and its keys (${keys.join(", ")})` : ""}`,
    question: `Forget provider ${name} (${type})${hasKey ? " and its keys" : ""}?`,
  };
  await session.gate.pass(action, () =>
    session.withFleetLock(async () => {
      const users = usersOf(session.hosts.read(), name);
      if (!force) mustBeUnused(name, users);
      await setBack(session, users, "providers");
      await session.secrets.remove({ provider: name });
      await session.providers.update(
        ({ providers: { [name]: _, ...providers }, ...rest }) => ({ ...rest, providers }),
        { forget: true },
      );
    }),
  );
  return { agents, hasKey };
}

function mustBeUnused(name: string, agents: Agent[]): void {
  if (agents.length === 0) return;
  throw new Fault("in-use", `provider ${name} is used by ${agents.map(agentId).join(", ")}`, {
    why: "they would keep the key they have, and could not be configured again",
    next: [
      ...agents.map((agent) => `${configureLine(agent)} --stage providers`),
      `clm provider remove ${name} --force`,
    ],
    data: { agents: agents.map(agentId) },
  });
}
