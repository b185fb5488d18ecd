import { sh } from "../../quote.js";
import { lookBeginning, settingsOf, versionCall } from "../looking.js";
import { privatePlaces } from "../private-places.js";
import proofs from "../proof/proof.sh?raw";
import type { Subject } from "../subject.js";
import library from "./sight.sh?raw";

/** An agent to be looked at. */
export interface Looked {
  subject: Subject;
  /** The address of the service that answers for its model: where it is, and no more. */
  reach?: string | undefined;
}

/**
 * The script that looks at all of a host's agents at once. Each line it prints begins with the number of the agent it is
 * about. The agents' keys are the first lines of its stdin, in the same order.
 */
export function sightScript(agents: readonly Looked[]): string {
  const keys = agents.map((_, at) => `IFS= read -r key_${at}`);
  return [
    lookBeginning(proofs + library),
    ...keys,
    // What comes next on stdin is for somebody else.
    "exec </dev/null",
    ...agents.map((agent, at) => `{\n${section(agent, at)}\n} | sed -u 's/^/${at} /' &`),
    "wait",
    "say end yes",
    "",
  ].join("\n");
}

function section({ subject, reach = "" }: Looked, at: number): string {
  const { manifest, port } = subject;
  const { health, models } = manifest.api;
  return [
    settingsOf(subject),
    sh`port=${port} health=${health} models=${models} chat='' salt=''`,
    `key=$key_${at}`,
    "see_account",
    // Starting the program takes longer than all the rest together.
    `${versionCall(subject)} &`,
    sh`see_reach ${reach} &`,
    sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
    "see_unit",
    "see_use cpu.first",
    "see_room",
    "see_channels",
    "see_error",
    "see_port",
    "see_answers",
    "wait",
    "see_use cpu.last",
    "say end yes",
  ].join("\n");
}
