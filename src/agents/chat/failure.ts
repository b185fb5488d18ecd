/**
 * The texts by which an agent says that a model call failed, though it answers HTTP 200 as if the model had spoken. Each is how
 * such a text begins; `{n}` stands for a number and `{status}` for an HTTP status of 400 or more.
 */
export interface FailureForms {
  /** Words of the agent itself: a failure whatever else the answer reports. */
  always: readonly string[];
  /** A model can say these too: a failure only where the answer reports that no tokens were used. */
  withoutUsage: readonly string[];
}

export const noForms: FailureForms = { always: [], withoutUsage: [] };

/** What went wrong, as far as the HTTP status of the provider tells. */
export type FailureCause =
  | "key-refused"
  | "account-empty"
  | "rate-limited"
  | "request-refused"
  | "provider-failed"
  | "empty"
  | "unknown";

/** A failed model call that the agent reports as an answer. */
export interface AnswerFailure {
  cause: FailureCause;
  /** The provider's HTTP status, where the text names one. */
  status?: number;
  text: string;
  /** The text stands where the answer would be: nothing of the answer is the model's. */
  asAnswer: boolean;
}

// Characters. A text that may be a failure is held back until it is longer; only explicit errors are failures from then on.
const longestFailure = 16_384;

/** Whether a text that is still coming may turn out to be a failure. */
export function mayBeFailure(text: string, { always, withoutUsage }: FailureForms): boolean {
  if (text.length > longestFailure) return false;
  const begun = text.trimStart();
  return [...always, ...withoutUsage].some((form) => matched(begun, form) !== undefined);
}

/** The failure that a whole text tells, if it tells one. `unused` says that the answer reports zero tokens. */
export function failureInText(text: string, unused: boolean, forms: FailureForms): AnswerFailure | undefined {
  const said = text.trim();
  const tells = (form: string) => matched(said, form) === "whole";
  const isFailure =
    forms.always.some(tells) || (unused && said.length <= longestFailure && forms.withoutUsage.some(tells));
  return isFailure ? { ...failureSaying(said, forms), asAnswer: true } : undefined;
}

/** A failure that is known for one, with what its text tells of the cause. */
export function failureSaying(text: string, forms: FailureForms): AnswerFailure {
  const status = statusIn(text, forms);
  return { cause: causeFor(status), ...(status !== undefined && { status }), text, asAnswer: false };
}

export const emptyAnswer: AnswerFailure = { cause: "empty", text: "it is empty", asAnswer: false };

const paths = /(\{n\}|\{status\})/;

// Every answer is compared with every form, which never changes.
const known = new Map<string, readonly string[]>();

function partsOf(form: string): readonly string[] {
  const parts = known.get(form) ?? form.split(paths);
  known.set(form, parts);
  return parts;
}

/** Nothing when the text cannot be of that form, `begun` when it is too short to tell. */
function matched(text: string, form: string): "begun" | "whole" | undefined {
  let at = 0;
  for (const part of partsOf(form)) {
    const left = text.slice(at);
    if (left === "" && part !== "") return "begun";
    if (part === "{n}" || part === "{status}") {
      const [digits] = /^\d*/.exec(left) ?? [""];
      if (part === "{status}" && digits === left && /^[45]\d?$/.test(digits)) return "begun";
      if (part === "{n}" ? digits === "" : !/^[45]\d\d$/.test(digits)) return undefined;
      at += digits.length;
    } else if (left.startsWith(part)) at += part.length;
    else return part.startsWith(left) ? "begun" : undefined;
  }
  return "whole";
}

/** `API call failed after 3 retries: HTTP 500: …` is one form within another. */
function statusIn(text: string, { always, withoutUsage }: FailureForms): number | undefined {
  for (const form of [...always, ...withoutUsage]) {
    const expression = new RegExp(`^${partsOf(form).map(partPattern).join("")}`);
    const found = expression.exec(text);
    if (!found) continue;
    if (found[1] !== undefined) return Number(found[1]);
    const rest = text.slice(found[0].length).replace(/^[\s:]+/, "");
    return rest.length < text.length ? statusIn(rest, { always, withoutUsage }) : undefined;
  }
  return undefined;
}

function partPattern(part: string): string {
  if (part === "{n}") return "\\d+";
  if (part === "{status}") return "([45]\\d\\d)";
  return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function causeFor(status: number | undefined): FailureCause {
  if (status === undefined) return "unknown";
  if (status === 401 || status === 403) return "key-refused";
  if (status === 402) return "account-empty";
  if (status === 429) return "rate-limited";
  return status < 500 ? "request-refused" : "provider-failed";
}
