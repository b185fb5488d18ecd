import { fail, ok, type Verdict, warn } from "../../agents/check.js";
import type { ServiceRequest } from "../../agents/manifest/manifest.js";
import { isRecord } from "../../text/record.js";
import type { ServiceFailure, ServiceQuery, ServiceResponse } from "./query.js";

/** Judges key and address by the response. The URL may contain a key: only its host is named. */
export function judgeResponse(
  { url }: ServiceQuery,
  { expect, says }: ServiceRequest,
  answer: ServiceResponse | ServiceFailure,
): Verdict {
  const host = url.host;
  if ("trouble" in answer) return failures[answer.trouble](host, answer.detail ? `: ${answer.detail}` : "");
  const { status } = answer;
  const body = parsed(answer.body);
  const words = errorTextIn(body);
  const seen = words ? `${status}, ${words}` : `${status}`;

  if (!expect.includes(status)) return unexpected(host, answer, seen);
  if (body === undefined && (says !== undefined || answer.body.trim() !== "")) {
    return fail(`${host} answers, but not with JSON`, "check the address: another service answers there");
  }
  if (says !== undefined && member(body, says) !== true) {
    return fail(`${host} rejected the request: ${words ?? `${says} is not true`}`, "check the key");
  }
  return ok(`${host} answers (${status})`);
}

function unexpected(host: string, { status, location }: ServiceResponse, seen: string): Verdict {
  if (status === 401 || status === 403) return fail(`${host} refused the key (${seen})`, "check the key");
  if (status === 404) return fail(`${host} has nothing at that path (${seen})`, "check the address");
  if (status === 402) return fail(`${host} requires payment (${seen})`, "check the account's credit");
  // A rate limit means that the key was accepted.
  if (status === 429) return warn(`${host} limits the request rate (${seen})`, "try again later");
  if (status >= 300 && status < 400) {
    const elsewhere = location && URL.canParse(location) ? new URL(location).host : undefined;
    const to = elsewhere && elsewhere !== host ? ` to ${elsewhere}` : "";
    return fail(`${host} redirects${to} (${status}), and keys are not sent elsewhere`, "use the final address");
  }
  if (status >= 500) return fail(`${host} has an error (${seen})`, "try again later");
  return fail(`${host} did not accept the request (${seen})`, "check the address and the fields");
}

const failures: Record<ServiceFailure["trouble"], (host: string, because: string) => Verdict> = {
  name: (host) => fail(`the name ${host} does not resolve`, "check the address, and the name server"),
  refused: (host) => fail(`connection refused at ${host}`, "check the port, and that the service runs"),
  unreachable: (host, because) => fail(`${host} cannot be reached${because}`, "check the address and the network"),
  timeout: (host) => fail(`no answer from ${host} in time`, "check the address, the network and the firewall"),
  tls: (host, because) => fail(`no secure connection to ${host}${because}`, "check http or https, and the certificate"),
  "not-http": (host, because) => fail(`${host} does not speak HTTP${because}`, "check http or https, and the port"),
  "too-long": (host) => fail(`${host} answers with more than 1 MB`, "check the address: another service answers there"),
  "no-curl": () => fail("curl is not installed on the host", "on the host: apt-get install curl"),
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const member = (body: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), body);

/** The service's own error text: Slack's `error`, OpenAI's `error.code`, Telegram's `description` and so on. */
function errorTextIn(body: unknown): string | undefined {
  const paths = ["error", "error.code", "error.status", "error.type", "error.message", "description", "message"];
  for (const place of [...paths, "detail", "code"]) {
    const found = member(body, place);
    if (typeof found === "string" && found.trim() !== "") return found.replace(/\s+/g, " ").trim().slice(0, 160);
  }
  return undefined;
}
