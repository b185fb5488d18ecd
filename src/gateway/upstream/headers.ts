import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { UpstreamDialect } from "../../agents/chat/upstream.js";
import type { Exchange } from "../exchange/exchange.js";
import type { ScopedIds } from "../request/scoped-ids.js";
import type { SessionIds } from "../request/session-ids.js";
import type { PooledConnection } from "../upstream-pool/pooled-connection.js";
import type { PassOptions } from "./pass.js";

/**
 * The caller's headers that the agent gets; ids come from `ids`. Not Origin, to which agents answer 403. Not content-type: by its
 * charset the agent would read other members in the body than were checked here.
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

export function headersBack(
  { headers }: IncomingMessage,
  { dialect: { headerPrefix, errorHeader }, ids }: { dialect: UpstreamDialect; ids: ScopedIds },
  redact: (text: string) => string,
): Record<string, string> {
  const back: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    const passes = name === "content-type" || name === "cache-control" || name === "retry-after";
    if ((passes || name.startsWith(headerPrefix)) && typeof value === "string") back[name] = value;
  }
  const error = back[errorHeader];
  if (error !== undefined) back[errorHeader] = redact(error);
  return ids.headersBack(back);
}

/** The ids by which a caller can continue an answer. */
export function storedAs(
  headers: Record<string, string>,
  { sessionHeaders }: UpstreamDialect,
  response: string | undefined,
): SessionIds {
  const session = sessionHeaders.session && headers[sessionHeaders.session];
  return {
    ...(session !== undefined && { session }),
    ...(response !== undefined && { previousResponse: response }),
  };
}
