import { isFault } from "../../errors.js";
import type { Shell } from "../../remote/process.js";
import { run } from "../../remote/run.js";
import { isLoopback } from "./loopback.js";
import { maxBytes, type ServiceFailure, type ServiceQuery, type ServiceResponse } from "./query.js";

/** With curl, on stdin because arguments are public. `-q`: the user's curlrc may follow redirects or write a log. */
export async function requestFromHost(
  host: Shell,
  query: ServiceQuery,
  signal: AbortSignal,
  timeout: number,
): Promise<ServiceResponse | ServiceFailure> {
  const enough = new AbortController();
  const stop = AbortSignal.any([signal, enough.signal]);
  const chunks: Buffer[] = [];
  let size = 0;
  const onStdout = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes + 4096) enough.abort();
    else chunks.push(chunk);
  };
  const stdin = curlConfig(query, timeout);
  try {
    // curl has its own timeout; this one is for a host that hangs.
    const asked = run(host, "curl -q --config -", { stdin, onStdout, signal: stop, timeout: timeout + 10_000 });
    const { code, stderr } = await asked;
    return code === 0 ? responseFrom(Buffer.concat(chunks).toString("utf8")) : failureOf(query, code, stderr);
  } catch (error) {
    signal.throwIfAborted();
    if (enough.signal.aborted) return { trouble: "too-long" };
    if (isFault(error, "remote-timeout")) return { trouble: "timeout" };
    throw error;
  }
}

function curlConfig({ method, url, headers, body }: ServiceQuery, timeout: number): string {
  const settings = [
    ["url", url.href],
    ["request", method],
    ["proto", "=http,https"],
    ["max-time", String(timeout / 1000)],
    ["max-filesize", String(maxBytes)],
    ["write-out", "\n%{http_code} %{redirect_url}"],
    ...Object.entries(headers).map(([name, value]) => ["header", `${name}: ${value}`]),
    ...(body === undefined ? [] : [["data-raw", body]]),
  ];
  // A curl config has JSON's escapes for \ " \n \r \t; no setting has another control character.
  const lines = settings.map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return ["silent", "show-error", "globoff", ...lines, ""].join("\n");
}

function responseFrom(said: string): ServiceResponse {
  const at = said.lastIndexOf("\n");
  const [status = "", location] = said.slice(at + 1).split(" ");
  return { status: Number(status), body: said.slice(0, at), ...(location && { location }) };
}

const tls = [35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91];

function failureOf({ url }: ServiceQuery, code: number | null, stderr: string): ServiceFailure {
  // `curl: (60) SSL certificate problem: …`; further lines are advice about curl's options.
  const detail = stderr.split("\n", 1)[0]?.replace(/^curl: \(\d+\) (Failed to connect to .* ms: )?/, "");
  const because = detail ? { detail } : {};
  if (code === 127) return { trouble: "no-curl" };
  if (code === 6) return { trouble: "name" };
  if (code === 28) return { trouble: "timeout" };
  if (code === 63) return { trouble: "too-long" };
  // Newer curls do not say that it was refused (7.88: "Couldn't connect to server"). On loopback it must be.
  if (code === 7 && (isLoopback(url) || /refused/i.test(stderr))) return { trouble: "refused" };
  if (code !== null && tls.includes(code)) return { trouble: "tls", ...because };
  if ([1, 8, 52, 56].includes(code ?? 0)) return { trouble: "not-http", ...because };
  return { trouble: "unreachable", ...because };
}
