import { isFault } from "../../errors.js";
import type { Shell } from "../../remote/process.js";
import { run } from "../../remote/run.js";
import { isLoopback } from "./loopback.js";
import { type Answer, longest, type Question, type Silence } from "./question.js";

/**
 * Asks from a host, with one curl. What is asked travels on its stdin: every user of the host can read arguments.
 * `-q` keeps the user's own curlrc out of it, which may follow redirects or write a log.
 */
export async function askFromHost(
  host: Shell,
  question: Question,
  signal: AbortSignal,
  timeout: number,
): Promise<Answer | Silence> {
  const enough = new AbortController();
  const stop = AbortSignal.any([signal, enough.signal]);
  const chunks: Buffer[] = [];
  let size = 0;
  const onStdout = (chunk: Buffer) => {
    size += chunk.length;
    if (size > longest + 4096) enough.abort();
    else chunks.push(chunk);
  };
  const stdin = curlConfig(question, timeout);
  try {
    // curl gives up by itself; this is for a host that does not.
    const asked = run(host, "curl -q --config -", { stdin, onStdout, signal: stop, timeout: timeout + 10_000 });
    const { code, stderr } = await asked;
    return code === 0 ? answerIn(Buffer.concat(chunks).toString("utf8")) : silenceOf(question, code, stderr);
  } catch (error) {
    signal.throwIfAborted();
    if (enough.signal.aborted) return { trouble: "too-long" };
    if (isFault(error, "remote-timeout")) return { trouble: "timeout" };
    throw error;
  }
}

/** The question as a curl config file. */
function curlConfig({ method, url, headers, body }: Question, timeout: number): string {
  const settings: [string, string][] = [
    ["url", url.href],
    ["request", method],
    ["proto", "=http,https"],
    ["max-time", String(timeout / 1000)],
    ["max-filesize", String(longest)],
    ["write-out", "\n%{http_code} %{redirect_url}"],
    ...Object.entries(headers).map(([name, value]): [string, string] => ["header", `${name}: ${value}`]),
    ...(body === undefined ? [] : [["data-raw", body] as [string, string]]),
  ];
  return ["silent", "show-error", "globoff", ...settings.map(([name, value]) => `${name} = ${quoted(value)}`), ""].join(
    "\n",
  );
}

const escapes: Record<string, string> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Between double quotes a curl config knows these escapes, and everything else is itself. */
const quoted = (text: string): string => `"${text.replace(/[\\"\n\r\t\v]/g, (char) => escapes[char] ?? char)}"`;

function answerIn(said: string): Answer {
  const at = said.lastIndexOf("\n");
  const [status = "", location] = said.slice(at + 1).split(" ");
  return { status: Number(status), body: said.slice(0, at), ...(location && { location }) };
}

const tls = [35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91];

function silenceOf({ url }: Question, code: number | null, stderr: string): Silence {
  // `curl: (60) SSL certificate problem: …`; further lines are advice about options of curl.
  const detail = stderr.split("\n", 1)[0]?.replace(/^curl: \(\d+\) (Failed to connect to .* ms: )?/, "");
  const because = detail ? { detail } : {};
  if (code === 127) return { trouble: "no-curl" };
  if (code === 6) return { trouble: "name" };
  if (code === 28) return { trouble: "timeout" };
  if (code === 63) return { trouble: "too-long" };
  // Newer ones do not say whether they were refused (7.88: "Couldn't connect to server"). On the loopback nothing else is possible.
  if (code === 7 && (isLoopback(url) || /refused/i.test(stderr))) return { trouble: "refused" };
  if (code !== null && tls.includes(code)) return { trouble: "tls", ...because };
  if ([1, 8, 52, 56].includes(code ?? 0)) return { trouble: "not-http", ...because };
  return { trouble: "unreachable", ...because };
}
