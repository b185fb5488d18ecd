import { dotenvFile } from "../../../agents/files/env-file.js";
import { agentId } from "../../../state/agents.js";
import { type SecretSource, secretFrom } from "../../secret-source.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { mustBeFree, remarksOn } from "./allowed.js";
import { type Stored, store } from "./store.js";

/** Set: a variable of the user's own, for the agent's `.env`. */
export async function setSecret(session: Session, word: string, name: string, source: SecretSource): Promise<Stored> {
  const target = await targetOf(session, word);
  mustBeFree(session, target, name);
  const value = await secretFrom(session, source, { what: `the value of ${name}`, flag: "--from env:VARIABLE" });
  // What `.env` cannot say is found now and not when it is applied.
  dotenvFile(new Map([[name, value]]));
  const { stripped, texts } = remarksOn(target, [name]);
  for (const text of texts) session.ui.warn(text);
  const stored = await store(session, target.agent, {
    verb: "agent secret set",
    summary: `set ${name} of ${agentId(target.agent)}`,
    values: new Map([[name, value]]),
  });
  return { ...stored, stripped };
}
