import { type LastChats, openChats } from "../../state/chats.js";
import type { Session } from "../session.js";

/** Updates what `clm chat --last` continues. A failure is only a warning: it must not cost an answer or stop a verb. */
export async function keepLast(
  { configDir, ui }: Pick<Session, "configDir" | "ui">,
  change: (chats: LastChats) => Promise<void>,
): Promise<void> {
  try {
    // Without the session's signal: a conversation whose answer was stopped can be continued too.
    await change(openChats(configDir, { what: "clm chat" }));
  } catch (error) {
    ui.warn(`clm chat --last may not find the right conversation: ${(error as Error).message}`);
  }
}
