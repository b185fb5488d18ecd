import { type LastChats, openChats } from "../../state/chats.js";
import type { Session } from "../session.js";

/** Keeps `clm chat --last` true. That it may not be is told, and is no reason to lose an answer or to stop half-way. */
export async function keepLast(
  { configDir, ui }: Pick<Session, "configDir" | "ui">,
  change: (chats: LastChats) => Promise<void>,
): Promise<void> {
  try {
    // Without the session's signal: a conversation whose answer was stopped can be gone on with too.
    await change(openChats(configDir, { what: "clm chat" }));
  } catch (error) {
    ui.warn(`clm chat --last may not find the right conversation: ${(error as Error).message}`);
  }
}
