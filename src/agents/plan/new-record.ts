import { Fault } from "../../errors.js";
import type { AgentRecord } from "../../state/agent.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { pathsFor } from "./resolved-agent.js";

type NewAgent = { name: string; mark: string; relaxed: boolean } & Pick<AgentRecord, "version" | "port">;

export function newRecord(manifest: Manifest, { name, version, port, mark, relaxed }: NewAgent): AgentRecord {
  const unit = fill(manifest.unit.name, { name });
  if (unit === undefined)
    throw new Fault("bug", `the manifest of ${manifest.type} uses more than {{name}} in unit.name`);
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
