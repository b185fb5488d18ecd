import { Fault } from "../../../errors.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import { didYouMean } from "../../../text/nearest.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { mustBeFree } from "./allowed.js";
import { type Stored, store } from "./store.js";

/** Remove: a variable of the user's own is forgotten here, and gone from the host when that is next configured. */
export async function removeSecret(session: Session, word: string, name: string): Promise<Stored> {
  const target = await targetOf(session, word);
  mustBeFree(session, target, name);
  const { agent } = target;
  const names = session.secrets.names(secretOwner(agent));
  if (!names.includes(name)) {
    throw new Fault("not-found", `${agentId(agent)} has no secret ${name}`, {
      ...didYouMean(name, names),
      next: `clm agent secret list ${agent.ref}`,
    });
  }
  return store(session, agent, {
    verb: "agent secret remove",
    summary: `forget ${name} of ${agentId(agent)}`,
    question: `Forget ${name} of ${agentId(agent)}?`,
    values: new Map([[name, undefined]]),
  });
}
