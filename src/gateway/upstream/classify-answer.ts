import { type Completion, completionFrom, errorText } from "../../agents/chat/completion.js";
import type { AnswerFailure, FailureCause } from "../../agents/chat/failure.js";
import { redactedBody } from "../../text/redacted-json.js";
import type { CallOutcome, Tokens } from "../gateway-call.js";
import { Refusal } from "../refusal.js";
import { withoutOwnTools } from "./own-tools.js";
import type { PassOptions } from "./pass.js";
import { withResponseId } from "./response-ids.js";
import { plainTap } from "./tap.js";

type Verdict =
  | { ending: Pick<CallOutcome, "status" | "code" | "tokens">; body: Buffer; response?: string | undefined }
  | { refusal: Refusal; tokens?: Tokens };

/** What an answer that came whole really is: an answer, a failure told as one, or an error and whose. */
export function classifyAnswer(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  { input, failures, from, ids }: Pick<PassOptions, "input" | "failures" | "from" | "ids">,
  redact: (text: string) => string,
): Verdict {
  const proxied = from === "proxy";
  if (status >= 200 && status < 300) {
    const tap = plainTap(body);
    const failure = proxied ? undefined : tap.failure(headers, failures);
    const ending = { status, tokens: tap.tokens(input) };
    if (failure === undefined && from !== "responses") return { ending, body };
    if (failure === undefined) {
      const response = tap.response === undefined ? undefined : ids.response(tap.response);
      return { ending, body: withResponseId(withoutOwnTools(body), ids.response), response };
    }
    const tokens = tap.failedTokens(input, failure);
    return { refusal: failedCall(failure, redact), ...(tokens && { tokens }) };
  }
  const said = completionFrom(body.toString());
  if (status === 401 || status === 403) return { refusal: refusedOurs(said, proxied, redact) };
  const code = codeOf(said);
  // An error in the shape that callers know says more than we could.
  if (status >= 400 && isError(said)) {
    return {
      ending: { status, code: code ?? "upstream_error" },
      body: Buffer.from(redactedBody(body.toString(), redact)),
    };
  }
  const own = status >= 400 && status < 500 ? status : 502;
  return { refusal: new Refusal(own, "upstream_error", `The agent answered with HTTP ${status}.`) };
}

/** Of a model call that failed. Its status is the gateway's own: the caller's request may be as good as its key. */
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

/** The caller's key was fine: it is between clm and the agent. */
function refusedOurs(said: Completion | undefined, proxied: boolean, redact: (text: string) => string): Refusal {
  const why = said ? redact(errorText(said)) : "";
  if (proxied) return new Refusal(502, "proxy_refused", why || "The proxy's own login was refused.");
  return new Refusal(502, "agent_refused_key", "The agent did not take the key that clm has for it.");
}

const isError = (said: Completion | undefined): boolean => typeof said?.error === "object" && said.error !== null;

function codeOf(said: Completion | undefined): string | undefined {
  const code = (said?.error as { code?: unknown } | undefined)?.code;
  // It goes into the log and into metrics, where a text of any length has no place.
  return typeof code === "string" && /^[\w.-]{1,64}$/.test(code) ? code : undefined;
}
