import { type Completion, errorText } from "../../chat/completion.js";
import { type ErrorExtension, type FailureSigns, failureForms } from "../../chat/failure.js";
import type { Manifest } from "../../manifest/manifest.js";

/** Hermes adds this member to completions, beside the headers X-Hermes-Completed and X-Hermes-Error. */
interface HermesCompletion extends Completion {
  hermes?: { failed?: unknown; error?: unknown };
}

/** A failed model call is answered with HTTP 200 (seen live): older versions send only a text, later ones also this. */
const extension: ErrorExtension = {
  isIn: (chunk: HermesCompletion) => Boolean(chunk.hermes),
  isFailed: ({ said, headers, finish }) =>
    (said as HermesCompletion).hermes?.failed === true ||
    // An answer that was cut at its maximum length is an answer, and reported as not completed.
    (headers["x-hermes-completed"] === "false" && finish !== "length"),
  text({ said, headers }) {
    const own = (said as HermesCompletion).hermes?.error;
    return (typeof own === "string" && own) || errorText(said) || (headers["x-hermes-error"] ?? "");
  },
};

export const hermesFailures = (manifest: Pick<Manifest, "api">): FailureSigns => ({
  ...failureForms(manifest),
  extension,
});
