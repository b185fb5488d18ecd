import { skipped, type Verdict } from "../agents/check.js";
import { fill } from "../agents/files/template.js";
import type { Values } from "../agents/manifest/fields.js";
import type { ServiceRequest } from "../agents/manifest/manifest.js";
import { Fault } from "../errors.js";
import type { Connection } from "../remote/connection.js";
import { Secret } from "../secret.js";
import { redactedBody } from "../text/redacted-json.js";
import { requestFromHere } from "./service/from-here.js";
import { requestFromHost } from "./service/from-host.js";
import { judgeResponse } from "./service/judge-response.js";
import type { ServiceQuery } from "./service/query.js";
import type { Session } from "./session.js";

/** From the control machine or, given a connection, from that host. The result names only the host of the URL. */
export async function askService(
  { ui, signal }: Pick<Session, "ui" | "signal">,
  request: ServiceRequest,
  values: Values,
  from?: Connection,
  timeout = 15_000,
): Promise<Verdict> {
  for (const value of Object.values(values)) if (value instanceof Secret) ui.hide(value);
  const query = queryFrom(request, values);
  if (!query) return skipped("a value that the request needs is not set");
  const response = await (from
    ? requestFromHost(from, query, signal, timeout)
    : requestFromHere(query, signal, timeout));
  // A service may echo the key. Redacted before anything is cut: half a key would not be recognised.
  const answer = "body" in response ? { ...response, body: redactedBody(response.body, ui.redact) } : response;
  const { reason, ...verdict } = judgeResponse(query, request, answer);
  return { ...verdict, reason: ui.redact(reason) };
}

/** Undefined when the URL needs a value that is not set. Headers and parts of the body that do are left out. */
function queryFrom({ method, url, headers, body }: ServiceRequest, values: Values): ServiceQuery | undefined {
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
  // Not quoted: it may contain a key.
  throw new Fault("bad-input", "not a valid URL", { why: "it must start with http:// or https://" });
}

function headersFrom(headers: Record<string, string>, values: Record<string, string>): Record<string, string> {
  const filled = Object.entries(headers).flatMap(([name, template]) => {
    const value = fill(template, values);
    return value === undefined ? [] : [[name.toLowerCase(), value] as const];
  });
  // A line break would start another header.
  const bad = filled.find(([, value]) => /[^\t\x20-\x7e]/.test(value));
  if (!bad) return Object.fromEntries(filled);
  throw new Fault("bad-input", `the value for the header ${bad[0]} is not valid`, {
    why: "a header takes printable ASCII",
  });
}

function filledIn(part: unknown, values: Record<string, string>): unknown {
  if (typeof part === "string") return fill(part, values);
  if (Array.isArray(part)) return part.map((each) => filledIn(each, values)).filter((each) => each !== undefined);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([key, value]) => [key, filledIn(value, values)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
