import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { ServiceQuery } from "./query.js";

/** Sends a request from this machine. Rejects with Node's error. */
export async function sendRequest(
  { method, url, headers, body }: ServiceQuery,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request } = url.protocol === "https:" ? https : http;
  // No shared agent: no connection stays open.
  const asked = request(url, { method, headers, agent: false, signal });
  // An error while the body is read, without a listener, would end the program.
  asked.on("error", () => {}).end(body);
  const [answer] = await once(asked, "response");
  return answer;
}
