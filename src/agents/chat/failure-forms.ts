import type { Manifest } from "../manifest/manifest.js";
import type { FailureForms } from "./failure.js";

/** How agents of a type word a failed model call, as their manifest has it. */
export const failureForms = ({ api: { chat } }: Pick<Manifest, "api">): FailureForms => ({
  always: chat.failures,
  withoutUsage: chat.failures_without_usage,
});
