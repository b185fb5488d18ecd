import type { Check } from "../agents/check.js";
import { fill } from "../agents/files/template.js";
import type { ServiceRequest } from "../agents/manifest/manifest.js";
import type { Values } from "../agents/plan/resolved-agent.js";
import { Fault } from "../errors.js";
import type { Connection } from "../remote/connection.js";
import { Secret } from "../secret.js";
import { redactedBody } from "../text/redacted-json.js";
import { askFromHere } from "./service/from-here.js";
import { askFromHost } from "./service/from-host.js";
import { type Question, usualTimeout } from "./service/question.js";
import { verdictOn } from "./service/verdict.js";
import type { Session } from "./session.js";

/**
 * Asks a service whether what was answered is right: from the control machine, or, given a connection, from that host.
 * What comes back names the service's host and nothing else of the address.
 */
export async function askService(
  { ui, signal }: Pick<Session, "ui" | "signal">,
  request: ServiceRequest,
  values: Values,
  from?: Connection,
  { timeout = usualTimeout }: { timeout?: number } = {},
): Promise<Check> {
  const id = "service";
  for (const value of Object.values(values)) if (value instanceof Secret) ui.hide(value);
  const question = questionFrom(request, values);
  if (!question) return { id, result: "skipped", reason: "not everything is known that the question needs" };
  const heard = await (from ? askFromHost(from, question, signal, timeout) : askFromHere(question, signal, timeout));
  // A service may repeat the key. Hidden before anything is cut: of half a key nobody could tell what it is.
  const answer = "body" in heard ? { ...heard, body: redactedBody(heard.body, ui.redact) } : heard;
  const { reason, ...verdict } = verdictOn(question, request, answer);
  return { id, ...verdict, reason: ui.redact(reason) };
}

/** Nothing when the address names something nobody gave. A header or a part of the body that does is left out. */
function questionFrom({ method, url, headers, body }: ServiceRequest, values: Values): Question | undefined {
  const plain = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
  const address = fill(url, plain);
  if (address === undefined) return undefined;
  const filled = filledIn(body, plain);
  return {
    method,
    url: urlFrom(address),
    headers: {
      accept: "application/json",
      ...(filled !== undefined && { "content-type": "application/json" }),
      ...headersFrom(headers, plain),
    },
    ...(filled !== undefined && { body: JSON.stringify(filled) }),
  };
}

function urlFrom(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "") return url;
  // Not shown: it may hold a key.
  throw new Fault("bad-input", "what was given does not make an address", {
    why: "an address is http://… or https://…",
  });
}

function headersFrom(headers: Record<string, string>, values: Record<string, string>): Record<string, string> {
  const filled = Object.entries(headers).flatMap(([name, template]) => {
    const value = fill(template, values);
    return value === undefined ? [] : [[name.toLowerCase(), value] as const];
  });
  // A line break would begin another header.
  const bad = filled.find(([, value]) => /[^\t\x20-\x7e]/.test(value));
  if (!bad) return Object.fromEntries(filled);
  throw new Fault("bad-input", `what was given cannot be sent as ${bad[0]}`, {
    why: "a header takes plain characters",
  });
}

function filledIn(part: unknown, values: Record<string, string>): unknown {
  if (typeof part === "string") return fill(part, values);
  if (Array.isArray(part)) return part.map((each) => filledIn(each, values)).filter((each) => each !== undefined);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([key, value]) => [key, filledIn(value, values)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
