import type { FailureForms } from "./chat/failure.js";
import type { Manifest } from "./manifest.js";

/** How agents of a type word a failed model call, as their manifest has it. */
export const failureForms = ({ api: { chat } }: Pick<Manifest, "api">): FailureForms => ({
  always: chat.failures,
  withoutUsage: chat.failures_without_usage,
});
