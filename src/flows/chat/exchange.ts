import { chatBody, sessionHeader } from "../../agents/chat/message.js";
import { type Piece, type Streamed, streamReader } from "../../agents/chat/stream.js";
import { ask } from "../../remote/http.js";
import type { Door } from "../agent/door.js";
import type { Session } from "../session.js";
import { bodyText, noAnswer, refused, withSilenceLimit } from "./answering.js";

export interface Message {
  /** The conversation it belongs to. */
  id: string;
  text: string;
  /** Said to the model beside it. */
  system?: string | undefined;
  signal: AbortSignal;
  onPiece: (piece: Piece) => void;
  /** The message was taken. Told the session that it is said to be in, gives the one that it is in: the agent may have folded it. */
  taken: (told: string | undefined) => string;
}

/** One message to an agent and what it answers, through its door. What is no answer throws. */
export async function exchange(session: Session, door: Door, message: Message): Promise<Streamed> {
  const { connection, subject, key } = door;
  const { id, text, system, signal, onPiece, taken } = message;
  const { path, model, failures } = subject.manifest.api.chat;
  const stop = withSilenceLimit(signal, subject);
  const { status, headers, body } = await ask(connection, {
    ...{ method: "POST", port: subject.port, path, signal: stop.signal },
    headers: {
      Authorization: `Bearer ${key.reveal()}`,
      "Content-Type": "application/json",
      Accept: "text/event-stream",
      [sessionHeader]: id,
    },
    body: chatBody(model, text, system),
  }).finally(stop.end);
  if (status !== 200) throw refused(subject, id, status, session.ui.redact(await bodyText(stop.watched(body))));
  const now = taken(headers[sessionHeader.toLowerCase()]);
  const reader = streamReader({ headers, failures, onPiece });
  const decoder = new TextDecoder();
  for await (const chunk of stop.watched(body)) {
    if (!reader.push(decoder.decode(chunk, { stream: true }))) break;
  }
  const answer = reader.end();
  if (answer.failure !== undefined) throw noAnswer(subject, now, session.ui.redact(answer.failure));
  return answer;
}
