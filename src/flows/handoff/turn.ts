import { chatBody, sessionHeader } from "../../agents/chat/message.js";
import { streamReader } from "../../agents/chat/stream.js";
import { ask } from "../../remote/http.js";
import type { Agent } from "../../state/agents.js";
import { openDoor } from "../agent/door.js";
import { bodyText, noAnswer, refused, withSilenceLimit } from "../chat/answering.js";
import type { Session } from "../session.js";

export interface Turn {
  text: string;
  /** The session it went on in: another one, when the agent folded the conversation. */
  session: string;
}

/** One turn of a conversation, that clm asks for itself: `clm chat --last` goes on with what people said. */
export async function turnIn(session: Session, agent: Agent, id: string, message: string): Promise<Turn> {
  const { connection, subject, key } = await openDoor(session, agent);
  const { path, model, failures } = subject.manifest.api.chat;
  const stop = withSilenceLimit(session.signal, subject);
  const { status, headers, body } = await ask(connection, {
    ...{ method: "POST", port: subject.port, path, signal: stop.signal },
    headers: {
      Authorization: `Bearer ${key.reveal()}`,
      "Content-Type": "application/json",
      Accept: "text/event-stream",
      [sessionHeader]: id,
    },
    body: chatBody(model, message, undefined),
  }).finally(stop.end);
  if (status !== 200) throw refused(subject, id, status, session.ui.redact(await bodyText(stop.watched(body))));
  const reader = streamReader({ headers, failures, onPiece() {} });
  const decoder = new TextDecoder();
  for await (const chunk of stop.watched(body)) {
    if (!reader.push(decoder.decode(chunk, { stream: true }))) break;
  }
  const { failure, text } = reader.end();
  if (failure !== undefined) throw noAnswer(subject, id, session.ui.redact(failure));
  return { text, session: headers[sessionHeader.toLowerCase()] ?? id };
}
