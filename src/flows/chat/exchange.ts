import type { ChatMessage } from "../../agents/chat/dialect.js";
import type { Piece, Streamed } from "../../agents/chat/stream.js";
import { capability } from "../../agents/type.js";
import { ask } from "../../remote/http.js";
import type { Agent } from "../../state/agents.js";
import { redactedBody } from "../../text/redacted-json.js";
import { type VerifiedApi, verifyPortOwner } from "../agent/verify-port-owner.js";
import type { Session } from "../session.js";
import { bodyText, noAnswer, refused, withSilenceLimit } from "./answering.js";

export interface Message extends ChatMessage {
  signal: AbortSignal;
  onPiece: (piece: Piece) => void;
  /** The agent accepted the message. Gets the session that the answer names, and returns the one to use from now on. */
  accepted: (session: string | undefined) => string;
}

export interface Exchanged extends Omit<Streamed, "failure"> {
  /** The session of the answer: another one when the agent compressed the conversation. */
  session: string;
}

/** A single message, of which only the whole answer is wanted. Does not change what `clm chat --last` continues. */
export async function askOnce(session: Session, agent: Agent, id: string, text: string): Promise<Exchanged> {
  const verified = await verifyPortOwner(session, agent);
  const accepted = (named = id) => named;
  return exchange(session, verified, { session: id, text, signal: session.signal, onPiece() {}, accepted });
}

export async function exchange(session: Session, verified: VerifiedApi, message: Message): Promise<Exchanged> {
  const { api, resolved: agent, key } = verified;
  const chat = await capability(agent.manifest, "chat");
  const { path, headers: sent, body: question, streams, silence } = chat.request(agent, message);
  const stop = withSilenceLimit(message.signal, agent, silence);
  const { status, headers, body } = await ask(api, {
    method: "POST",
    path,
    headers: { Authorization: `Bearer ${key.reveal()}`, ...sent },
    body: question,
    signal: stop.signal,
  }).finally(stop.end);
  if (status !== 200) {
    const text = redactedBody(await bodyText(stop.watched(body)), session.ui.redact);
    throw refused(agent, message.session, status, text);
  }
  const id = message.accepted(chat.sessionIn(headers));
  const reader = chat.reader(agent, { streams, headers, onPiece: message.onPiece });
  for await (const chunk of stop.watched(body)) if (!reader.push(chunk)) break;
  const { failure, ...answer } = reader.end();
  if (failure) throw noAnswer(agent, id, { ...failure, text: session.ui.redact(failure.text) });
  return { ...answer, session: id };
}
