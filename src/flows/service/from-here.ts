import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { maxBytes, type ServiceFailure, type ServiceQuery, type ServiceResponse } from "./query.js";

export async function requestFromHere(
  query: ServiceQuery,
  signal: AbortSignal,
  timeout: number,
): Promise<ServiceResponse | ServiceFailure> {
  const late = AbortSignal.timeout(timeout);
  try {
    const answer = await sendRequest(query, AbortSignal.any([signal, late]));
    const text = await bodyOf(answer);
    if (text === undefined) return { trouble: "too-long" };
    const { location } = answer.headers;
    return { status: answer.statusCode ?? 0, body: text, ...(location && { location }) };
  } catch (error) {
    signal.throwIfAborted();
    return late.aborted ? { trouble: "timeout" } : failureOf(error as NodeJS.ErrnoException);
  }
}

/** Rejects with Node's error. */
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

async function bodyOf(answer: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const tls = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH|INVALID_CA)/;

function failureOf({ code = "", message }: NodeJS.ErrnoException): ServiceFailure {
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return { trouble: "name" };
  if (code === "ECONNREFUSED") return { trouble: "refused" };
  if (code === "ETIMEDOUT") return { trouble: "timeout" };
  if (tls.test(code)) return { trouble: "tls", detail: tlsReason(code, message) };
  if (code === "ECONNRESET" || code.startsWith("HPE_")) return { trouble: "not-http", detail: code };
  return { trouble: "unreachable", detail: code || message };
}

/** OpenSSL's lines (`C0D7…:error:0A00010B:SSL routines:…`) end with the readable part. */
const tlsReason = (code: string, message: string): string =>
  message.includes(":error:") ? (/:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? code) : message;
