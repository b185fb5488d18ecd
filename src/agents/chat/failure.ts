import type { Manifest } from "../manifest/manifest.js";
import type { Completion } from "./completion.js";

/** How an agent shows that a model call failed, though it answers HTTP 200. */
export interface FailureSigns extends FailureForms {
  /** Its additions to OpenAI's API that report errors. */
  extension?: ErrorExtension;
}

/** Prefixes of texts in place of an answer; `{n}` is a number and `{status}` an HTTP status of 400 or more. */
export interface FailureForms {
  /** The agent's own words: a failure whatever else the answer reports. */
  always: readonly string[];
  /** A model can say these too: a failure only where the answer reports that no tokens were used. */
  withoutUsage: readonly string[];
}

export interface ErrorExtension {
  /** Whether a chunk of a stream has such a member, and must be remembered until the stream ends. */
  isIn(chunk: Completion): boolean;
  isFailed(answer: { said: Completion; headers: Record<string, string>; finish: unknown }): boolean;
  /** The error's text, also that of OpenAI's own `error` member; empty when there is none. */
  text(answer: { said: Completion; headers: Record<string, string> }): string;
}

export const failureForms = ({ api: { chat } }: Pick<Manifest, "api">): FailureForms => ({
  always: chat?.failures ?? [],
  withoutUsage: chat?.failures_without_usage ?? [],
});

/** By the HTTP status of the provider. */
export type FailureCause =
  | "key-refused"
  | "account-empty"
  | "rate-limited"
  | "request-refused"
  | "provider-failed"
  | "empty"
  | "unknown";

export interface AnswerFailure {
  cause: FailureCause;
  /** The provider's HTTP status, where the text names one. */
  status?: number;
  text: string;
  /** The text stands in place of the answer: no part of the answer is the model's. */
  asAnswer: boolean;
}

// Characters. A text that may be a failure is held back until it is longer; from then on only explicit errors are failures.
const maxFailure = 16_384;

/** Whether the beginning of a text may turn out to be a failure. */
export function mayBeFailure(text: string, { always, withoutUsage }: FailureForms): boolean {
  if (text.length > maxFailure) return false;
  const start = text.trimStart();
  return [...always, ...withoutUsage].some((form) => match(start, form) !== undefined);
}

/** The failure that a whole text reports, if any. `unused`: the answer reports zero tokens. */
export function failureInText(text: string, unused: boolean, forms: FailureForms): AnswerFailure | undefined {
  const trimmed = text.trim();
  const has = (form: string) => match(trimmed, form) === "whole";
  const isFailure = forms.always.some(has) || (unused && trimmed.length <= maxFailure && forms.withoutUsage.some(has));
  return isFailure ? { ...failureSaying(trimmed, forms), asAnswer: true } : undefined;
}

export function failureSaying(text: string, forms: FailureForms): AnswerFailure {
  const status = statusIn(text, forms);
  return { cause: causeFor(status), ...(status !== undefined && { status }), text, asAnswer: false };
}

export const emptyAnswer: AnswerFailure = { cause: "empty", text: "it is empty", asAnswer: false };

// Every answer is compared with every form, and forms never change.
const known = new Map<string, readonly string[]>();

function partsOf(form: string): readonly string[] {
  const parts = known.get(form) ?? form.split(/(\{n\}|\{status\})/);
  known.set(form, parts);
  return parts;
}

/** `beginning` when the text is too short to decide, undefined when it cannot have the form. */
function match(text: string, form: string): "beginning" | "whole" | undefined {
  let at = 0;
  for (const part of partsOf(form)) {
    const left = text.slice(at);
    if (left === "" && part !== "") return "beginning";
    if (part === "{n}" || part === "{status}") {
      const [digits] = /^\d*/.exec(left) ?? [""];
      if (part === "{status}" && digits === left && /^[45]\d?$/.test(digits)) return "beginning";
      if (part === "{n}" ? digits === "" : !/^[45]\d\d$/.test(digits)) return undefined;
      at += digits.length;
    } else if (left.startsWith(part)) at += part.length;
    else return part.startsWith(left) ? "beginning" : undefined;
  }
  return "whole";
}

/** `API call failed after 3 retries: HTTP 500: …` is one form within another. */
function statusIn(text: string, { always, withoutUsage }: FailureForms): number | undefined {
  for (const form of [...always, ...withoutUsage]) {
    const found = new RegExp(`^${partsOf(form).map(partPattern).join("")}`).exec(text);
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
