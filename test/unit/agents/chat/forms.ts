import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { hermesFailures } from "../../../../src/agents/hermes/chat/failures.js";

export const hermesManifest = parse(readFileSync("manifests/hermes.yaml", "utf8"));

/** How Hermes shows a failed call. */
export const manifestFailures = hermesFailures(hermesManifest);
