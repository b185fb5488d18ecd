import type { Secret } from "../../secret.js";
import { fullName, instanceOf, titleOf } from "../../state/agents.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveOneKey } from "./api-key.js";
import { targetOf } from "./target.js";

/** Key: hands out an agent's key. That it is handed out is in the audit log before it is. No host is contacted. */
export async function showKey(session: Session, word: string, handOut: (key: Secret) => void): Promise<void> {
  const { agent, subject } = await targetOf(session, word);
  const place = { instance: instanceOf(agent), name: subject.manifest.api.secret };
  mustHaveOneKey(session, place, agent.word);
  const { key } = apiKeyOf(session, place);
  const deed = {
    verb: "agent key",
    target: fullName(agent),
    summary: `show the key of ${titleOf(agent)}`,
  };
  await session.gate.pass(deed, async () => handOut(key));
}
