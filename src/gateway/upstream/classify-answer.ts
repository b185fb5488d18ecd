import { type Completion, completionFrom, errorText } from "../../agents/chat/completion.js";
import type { AnswerFailure, FailureCause } from "../../agents/chat/failure.js";
import { redactedBody } from "../../text/redacted-json.js";
import type { CallOutcome, Tokens } from "../request/gateway-call.js";
import { Refusal } from "../request/refusal.js";
import type { PassOptions } from "./pass.js";
import { withResponseId } from "./response-ids.js";
import { WholeTap } from "./tap.js";

type AnswerClass =
  | { ending: Pick<CallOutcome, "status" | "code" | "tokens">; body: Buffer; response?: string | undefined }
  | { refusal: Refusal; tokens?: Tokens | undefined };

/** Whether an answer that is not streamed is an answer, a failed call that looks like one, or an error. */
export function classifyAnswer(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  { input, agent, from, ids }: Pick<PassOptions, "input" | "agent" | "from" | "ids">,
  redact: (text: string) => string,
): AnswerClass {
  const proxied = from === "proxy";
  if (status >= 200 && status < 300) {
    const tap = new WholeTap(body);
    const failure = proxied ? undefined : tap.failure(headers, agent.signs);
    const ending = { status, tokens: tap.tokens(input) };
    if (failure === undefined && from !== "responses") return { ending, body };
    if (failure === undefined) {
      const response = tap.response === undefined ? undefined : ids.response(tap.response);
      return { ending, body: withResponseId(agent.dialect.rewriteResponse(body), ids.response), response };
    }
    return { refusal: failedCall(failure, redact), tokens: tap.reported };
  }
  const said = completionFrom(body.toString());
  if (status === 401 || status === 403) return { refusal: refusedOurs(said, proxied, redact) };
  const code = codeOf(said);
  // An error in OpenAI's shape says more than we could.
  if (status >= 400 && isError(said)) {
    const shown = Buffer.from(redactedBody(body.toString(), redact));
    return { ending: { status, code: code ?? "upstream_error" }, body: shown };
  }
  const own = status >= 400 && status < 500 ? status : 502;
  return { refusal: new Refusal(own, "upstream_error", `The agent answered with HTTP ${status}.`) };
}

/** For a failed model call. The status is 502: neither the caller's request nor its key need be wrong. */
export const failedCall = ({ cause, text }: AnswerFailure, redact: (text: string) => string): Refusal =>
  new Refusal(502, failureCodes[cause], redact(text));

const failureCodes: Record<FailureCause, string> = {
  "key-refused": "provider_refused_key",
  "account-empty": "provider_account_empty",
  "rate-limited": "provider_rate_limit",
  "request-refused": "provider_refused_request",
  "provider-failed": "provider_failed",
  empty: "agent_failed",
  unknown: "agent_failed",
};

/** The agent rejected clm's key for it; the caller's key is fine. */
function refusedOurs(said: Completion | undefined, proxied: boolean, redact: (text: string) => string): Refusal {
  const why = said ? redact(errorText(said)) : "";
  if (proxied) return new Refusal(502, "proxy_refused", why || "The proxy's own login was refused.");
  return new Refusal(502, "agent_refused_key", "The agent rejected the key that clm has for it.");
}

const isError = (said: Completion | undefined): boolean => typeof said?.error === "object" && said.error !== null;

function codeOf(said: Completion | undefined): string | undefined {
  const code = (said?.error as { code?: unknown } | undefined)?.code;
  // It goes into the log and into metrics, so it must be short.
  return typeof code === "string" && /^[\w.-]{1,64}$/.test(code) ? code : undefined;
}
