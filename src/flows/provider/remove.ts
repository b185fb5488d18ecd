import { Fault } from "../../errors.js";
import { type Agent, titleOf } from "../../state/agents.js";
import { findProvider } from "../../state/providers.js";
import type { Session } from "../session.js";
import { configureLine, setBack, usersOf } from "./users.js";

export interface Forgotten {
  /** Those that are left without it. */
  agents: Agent[];
  /** It had a key, kept here or fetched from elsewhere. */
  key: boolean;
}

/** Remove: clm forgets the provider and its secrets. */
export async function removeProvider(
  session: Session,
  name: string,
  { force }: { force: boolean },
): Promise<Forgotten> {
  const { type, references = {} } = findProvider(session.providers.read(), name);
  const agents = usersOf(session.hosts.read(), name);
  if (!force) mustBeUnused(name, agents);
  const keys = [...session.secrets.names({ provider: name }), ...Object.keys(references)];
  const key = keys.length > 0;
  const deed = {
    verb: "provider remove",
    target: name,
    summary: `forget provider ${name}${key ? ` and its keys (${keys.join(", ")})` : ""}`,
    question: `Forget provider ${name} (${type})${key ? " and its keys" : ""}?`,
  };
  await session.gate.pass(deed, () =>
    session.inFleet(async () => {
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
  if (session.gate.dryRun) for (const agent of agents) session.ui.note(`would leave ${titleOf(agent)} without it`);
  return { agents, key };
}

function mustBeUnused(name: string, agents: Agent[]): void {
  if (agents.length === 0) return;
  throw new Fault("in-use", `provider ${name} is used by ${agents.map(titleOf).join(", ")}`, {
    why: "they go on with the key they have, and could not be configured again",
    next: [
      ...agents.map((agent) => `${configureLine(agent)} --stage providers`),
      `clm provider remove ${name} --force`,
    ],
    data: { agents: agents.map(titleOf) },
  });
}
