import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";

/** Codex is told anew what the agent remembers, if it runs its turns and is told at all. */
export async function tellCodex(session: Session, agent: Agent): Promise<void> {
  const { runtime } = agent.record;
  if (runtime?.kind !== "codex") return;
  if (!runtime.mirror) {
    session.ui.warn(
      `${agent.name} runs on Codex, which is not told of it: clm agent runtime codex ${agent.ref} --mirror`,
    );
    return;
  }
  // What reads TOML takes its time to load, and few have Codex.
  const { keepMirror } = await import("../runtime/mirror.js");
  await keepMirror(session, agent);
}
