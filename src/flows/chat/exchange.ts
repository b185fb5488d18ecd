import { failureForms } from "../../agents/chat/failure-forms.js";
import { chatBody, sessionHeader } from "../../agents/chat/message.js";
import { type Piece, type Streamed, type StreamOptions, streamReader, wholeAnswer } from "../../agents/chat/stream.js";
import { streamsText } from "../../agents/hermes/codex/runtime.js";
import { ask } from "../../remote/http.js";
import { redactedBody } from "../../text/redacted-json.js";
import type { VerifiedApi } from "../agent/verify-port-owner.js";
import type { Session } from "../session.js";
import { bodyText, longestAnswer, noAnswer, refused, silences, withSilenceLimit } from "./answering.js";

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
export async function exchange(session: Session, door: VerifiedApi, message: Message): Promise<Streamed> {
  const { api, resolved: agent, key } = door;
  const { id, text, system, signal, onPiece, taken } = message;
  const { path, model } = agent.manifest.api.chat;
  const streams = streamsText(agent);
  const stop = withSilenceLimit(signal, agent, streams ? silences.streamed : silences.whole);
  const { status, headers, body } = await ask(api, {
    ...{ method: "POST", path, signal: stop.signal },
    headers: {
      Authorization: `Bearer ${key.reveal()}`,
      "Content-Type": "application/json",
      Accept: streams ? "text/event-stream" : "application/json",
      [sessionHeader]: id,
    },
    body: chatBody(model, text, system, streams),
  }).finally(stop.end);
  if (status !== 200) {
    const said = redactedBody(await bodyText(stop.watched(body)), session.ui.redact);
    throw refused(agent, id, status, said);
  }
  const now = taken(headers[sessionHeader.toLowerCase()]);
  const reading = { headers, forms: failureForms(agent.manifest), onPiece };
  const answer = streams
    ? await streamed(stop.watched(body), reading)
    : wholeAnswer(await bodyText(stop.watched(body), longestAnswer), reading);
  const { failure } = answer;
  if (failure) throw noAnswer(agent, now, { ...failure, text: session.ui.redact(failure.text) });
  return answer;
}

async function streamed(body: AsyncIterable<Buffer>, reading: StreamOptions): Promise<Streamed> {
  const reader = streamReader(reading);
  const decoder = new TextDecoder();
  for await (const chunk of body) if (!reader.push(decoder.decode(chunk, { stream: true }))) break;
  return reader.end();
}
