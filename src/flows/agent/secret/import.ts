import { open } from "node:fs/promises";
import { dotenvFile } from "../../../agents/files/env-file.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { mustBeFree, remarksOn } from "./allowed.js";
import { secretsIn } from "./env-file.js";
import { type Stored, store } from "./store.js";

/** Import: every variable of a `.env` file, all of them or none. */
export async function importSecrets(session: Session, word: string, file: string): Promise<Stored> {
  const { ui, secrets } = session;
  const target = await targetOf(session, word);
  const { agent } = target;
  const values = secretsIn(file, await textOf(session, file));
  for (const value of values.values()) ui.hide(value);
  if (values.size === 0) throw new Fault("bad-input", `there is nothing in ${file}`);
  for (const name of values.keys()) mustBeFree(session, target, name);
  dotenvFile(values);
  const { stripped, texts } = remarksOn(target, values.keys());
  for (const text of texts) ui.warn(text);
  const known = secrets.names(secretOwner(agent));
  const named = [...values.keys()].map((name) => (known.includes(name) ? `${name} (replaced)` : name)).join(", ");
  const stored = await store(session, agent, {
    verb: "agent secret import",
    summary: `set ${named} of ${agentId(agent)}`,
    question: `Set ${named} of ${agentId(agent)}?`,
    values,
  });
  return { ...stored, stripped };
}

const largest = 1024 * 1024;

async function textOf({ ui }: Session, path: string): Promise<string> {
  try {
    const file = await open(path, "r");
    try {
      const { mode, size } = await file.stat();
      if (size > largest) throw new Fault("bad-input", `${path} is larger than 1 MB`);
      if (mode & 0o077) ui.warn(`others can read ${path}: ${sh`chmod 600 ${path}`}`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("bad-input", `${path} cannot be read`, { why: (error as Error).message, cause: error });
  }
}
