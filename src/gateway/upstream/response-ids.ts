import { type EventRewriter, objectIn, withObject } from "../../agents/chat/events.js";
import { objectFrom } from "../../text/json-object.js";

interface Response {
  id?: unknown;
}

export type RenameId = (id: string) => string;

export const withResponseIds =
  (rename: RenameId): EventRewriter =>
  (event) => {
    if (!event.includes('"response"')) return event;
    const said = objectIn<{ response?: Response }>(event);
    const response = said?.response;
    if (typeof response !== "object" || response === null || typeof response.id !== "string") return event;
    const id = rename(response.id);
    if (id === response.id) return event;
    return withObject(event, { ...said, response: { ...response, id } });
  };

export function withResponseId(body: Buffer, rename: RenameId): Buffer {
  const said = objectFrom<Response>(body.toString());
  if (typeof said?.id !== "string") return body;
  const id = rename(said.id);
  return id === said.id ? body : Buffer.from(JSON.stringify({ ...said, id }));
}
