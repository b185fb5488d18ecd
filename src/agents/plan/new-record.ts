import { Fault } from "../../errors.js";
import type { AgentRecord } from "../../state/agent.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { pathsFor } from "./resolved-agent.js";

export interface NewAgent {
  name: string;
  version: string;
  port: number;
  mark: string;
  relaxed: boolean;
}

/** The record of an agent that is about to be installed. Its name is that of its user, and part of its unit's name. */
export function newRecord(manifest: Manifest, { name, version, port, mark, relaxed }: NewAgent): AgentRecord {
  const unit = fill(manifest.unit.name, { name });
  if (unit === undefined) throw new Fault("bug", `the manifest of ${manifest.type} names its unit by more than a name`);
  const first = manifest.stages.find(({ skipped }) => skipped === undefined);
  return {
    type: manifest.type,
    version,
    status: "installing",
    mark,
    user: name,
    home: pathsFor(manifest, name).home,
    unit,
    port,
    ...(relaxed && { relaxed }),
    onboarding: { state: first?.name ?? "validate", stages: {} },
  };
}
