import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Exchange } from "../exchange.js";
import type { ScopedIds } from "../scoped-ids.js";
import { type SessionIds, sessionIdHeaders } from "../session-ids.js";
import type { PooledConnection } from "../upstream-pool/pooled-connection.js";
import type { PassOptions } from "./pass.js";

/**
 * The caller's headers that the agent gets; ids come from `ids`. Hermes answers 403 to a request with an Origin. Not the caller's
 * content-type: by its charset the agent would read other members in the body than were judged here.
 */
const sentOn: readonly string[] = ["accept", "user-agent"];

export function headersFor(
  { request: { headers } }: Exchange,
  connection: PooledConnection,
  { body, ids }: Pick<PassOptions, "body" | "ids">,
): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = {
    host: connection.authority,
    "content-type": "application/json",
    "content-length": body.length,
    ...ids.headers,
  };
  for (const name of sentOn) {
    const value = headers[name];
    if (typeof value === "string") sent[name] = value;
  }
  if (connection.bearer) sent.authorization = `Bearer ${connection.bearer.reveal()}`;
  return sent;
}

/** The agent's headers that the caller gets. */
export function headersBack(
  { headers }: IncomingMessage,
  ids: ScopedIds,
  redact: (text: string) => string,
): Record<string, string> {
  const back: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    const passes = name === "content-type" || name === "cache-control" || name === "retry-after";
    if ((passes || name.startsWith("x-hermes-")) && typeof value === "string") back[name] = value;
  }
  if (back["x-hermes-error"] !== undefined) back["x-hermes-error"] = redact(back["x-hermes-error"]);
  return ids.headersBack(back);
}

/** Under which ids a caller can go on with an answer. */
export const storedAs = (headers: Record<string, string>, response: string | undefined): SessionIds => {
  const session = headers[sessionIdHeaders.session];
  return {
    ...(session !== undefined && { session }),
    ...(response !== undefined && { previousResponse: response }),
  };
};
