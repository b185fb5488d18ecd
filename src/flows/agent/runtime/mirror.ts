import { agentsId } from "../../../agents/hermes/codex/files.js";
import { fileOperations } from "../../../agents/plan/plan-files.js";
import { asFault } from "../../../errors.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { bring } from "../bring.js";
import { planIn, sceneOf, wantedBy } from "./scene.js";

/** Tells Codex anew what the agent remembers. That it was written down is so whatever becomes of this. */
export async function keepMirror(session: Session, agent: Agent): Promise<void> {
  const action = {
    verb: "agent runtime",
    target: hostAndName(agent),
    summary: `tell Codex anew what ${agent.name} remembers`,
  };
  try {
    const scene = await sceneOf(session, hostAndName(agent));
    const { agent: resolved, files } = planIn(scene, await wantedBy(scene, scene.agent.record));
    const mirror = files.filter(({ file }) => file.id === agentsId);
    const wish = fileOperations(resolved, mirror, { restart: false });
    await bring(session, action, { root: scene.root, wish, title: "tell Codex of it" });
  } catch (error) {
    session.signal.throwIfAborted();
    session.ui.warn(`Codex is not told of it yet: ${asFault(error).message}; next: clm agent sync ${agent.ref}`);
  }
}
