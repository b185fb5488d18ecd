import { proofSessions } from "../../probe/proof/session.js";
import type { SessionStore } from "../../sessions/sessions.js";
import { onStateDb } from "../state-db/program.js";
import program from "./program.py?raw";

export { messageFrom, messagesFrom, sessionFrom } from "./rows.js";

/** Sessions of proofs are shown only when asked for by id. */
export const query: SessionStore["query"] = (query, paths) =>
  onStateDb(program, { ...query, hidden: proofSessions }, paths);
