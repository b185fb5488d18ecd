import { objectFrom } from "../../text/json-object.js";
import { objectIn, withData } from "./event-data.js";
import type { EventRewriter } from "./event-filter.js";

interface Response {
  id?: unknown;
}

/** Gives a response's id another form, as callers are told it. */
export type RenameId = (id: string) => string;

/** For server-sent events: those that hold the response have its id. */
export const withResponseIds =
  (rename: RenameId): EventRewriter =>
  (event) => {
    if (!event.includes('"response"')) return event;
    const text = event.toString();
    const said = objectIn<{ response?: Response }>(text);
    const response = said?.response;
    if (typeof response !== "object" || response === null || typeof response.id !== "string") return event;
    const id = rename(response.id);
    if (id === response.id) return event;
    return Buffer.from(withData(text, JSON.stringify({ ...said, response: { ...response, id } })));
  };

/** For an answer that came whole. */
export function withResponseId(body: Buffer, rename: RenameId): Buffer {
  const said = objectFrom<Response>(body.toString());
  if (typeof said?.id !== "string") return body;
  const id = rename(said.id);
  return id === said.id ? body : Buffer.from(JSON.stringify({ ...said, id }));
}
