import { codexWish } from "../../../agents/codex/files.js";
import { asFault } from "../../../errors.js";
import { type Agent, fullName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { bring } from "../bring.js";
import { planIn, sceneOf, wantedBy } from "./scene.js";

/** Tells Codex anew what the agent remembers. That it was written down is so whatever becomes of this. */
export async function keepMirror(session: Session, agent: Agent): Promise<void> {
  const deed = {
    verb: "agent runtime",
    target: fullName(agent),
    summary: `tell Codex anew what ${agent.name} remembers`,
  };
  try {
    const scene = await sceneOf(session, fullName(agent));
    const { subject, codex } = planIn(scene, await wantedBy(scene, scene.agent.record));
    const path = codex?.agents?.path;
    const wish = codex ? codexWish(subject, codex).filter((each) => each.kind === "file" && each.path === path) : [];
    await bring(session, deed, { root: scene.root, wish, title: "tell Codex of it" });
  } catch (error) {
    session.signal.throwIfAborted();
    session.ui.warn(`Codex is not told of it yet: ${asFault(error).message}; next: clm agent sync ${agent.word}`);
  }
}
