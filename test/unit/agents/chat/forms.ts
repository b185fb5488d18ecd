import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { failureForms } from "../../../../src/agents/chat/failure-forms.js";

/** How Hermes words a failed call, as its manifest has it. */
export const manifestFailures = failureForms(parse(readFileSync("manifests/hermes.yaml", "utf8")));
