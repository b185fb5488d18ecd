import { sh } from "../../quote.js";
import { codexTexts, runsOnCodex } from "../codex/runtime.js";
import { manyScript, settingsOf, versionCall } from "../looking.js";
import { privatePlaces } from "../private-places.js";
import proofs from "../proof/proof.sh?raw";
import { textsCall } from "../proof/script.js";
import type { Subject } from "../subject.js";
import library from "./sight.sh?raw";

/** An agent to be looked at. */
export interface Looked {
  subject: Subject;
  /** The address of the service that answers for its model: where it is, and no more. */
  reach?: string | undefined;
  /** The same for the other providers it has, by name. */
  others?: Record<string, string> | undefined;
  /** Also what tells whether it is as it was configured. A salt asks for digests of the lines of `.env`. */
  rendered?: { salt: string } | undefined;
}

/**
 * The script that looks at all of a host's agents at once. Each line it prints begins with the number of the agent it is
 * about. The agents' keys are the first lines of its stdin, in the same order.
 */
export function sightScript(agents: readonly Looked[]): string {
  return scriptOf(
    agents.map((_, at) => `IFS= read -r key_${at}`),
    agents.map(section),
  );
}

/**
 * The same for a short look, which tells whether anything has changed since a whole one. No key is needed, no wrong one is
 * tried, and no program is started.
 */
export const glanceScript = (agents: readonly Looked[]): string => scriptOf([], agents.map(glance));

/** The same for what tells whether agents are as they were configured. Nothing is asked of them, so no key is needed. */
export const truthScript = (agents: readonly Looked[]): string => scriptOf([], agents.map(truth));

const scriptOf = (keys: string[], sections: string[]): string => manyScript(proofs + library, keys, sections);

function section(looked: Looked, at: number): string {
  const { subject, rendered } = looked;
  const { manifest, port, places } = subject;
  const { health, models } = manifest.api;
  return [
    settingsOf(subject),
    sh`port=${port} health=${health} models=${models} chat='' salt=${rendered?.salt ?? ""} config=${places.config}`,
    `key=$key_${at}`,
    "see_account",
    sh`see_touched ${restsOn(subject)}`,
    // Starting the program takes longer than all the rest together, and who looks at many does not wait for one.
    `${versionCall(subject, { seconds: 10 })} &`,
    ...reaching(looked),
    ...codexCall(subject),
    ...(rendered ? ["see_rendered", textsCall(subject)] : []),
    sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
    "see_unit",
    "see_use cpu.first",
    "see_room",
    "see_channels",
    "see_errors",
    "see_port",
    "see_answers",
    "wait",
    "see_use cpu.last",
  ].join("\n");
}

function truth({ subject, rendered }: Looked): string {
  return [
    settingsOf(subject),
    sh`salt=${rendered?.salt ?? ""} config=${subject.places.config}`,
    "see_account",
    `${versionCall(subject, { seconds: 30 })} &`,
    "see_rendered",
    textsCall(subject),
    sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
    ...["see_unit", "wait"],
  ].join("\n");
}

function glance(looked: Looked): string {
  const { subject } = looked;
  const { manifest, port } = subject;
  return [
    settingsOf(subject),
    sh`port=${port} health=${manifest.api.health} answer_seconds=3`,
    "see_account",
    sh`see_touched ${restsOn(subject)}`,
    ...reaching(looked),
    ...["see_unit", "see_use cpu.first", "see_room", "see_channels", "see_port", "see_health", "wait"],
  ].join("\n");
}

/** Beside the rest, as another program has to be started for it. */
const codexCall = (subject: Subject): string[] => {
  const { codex } = subject.manifest;
  return codex && runsOnCodex(subject) ? [sh`see_codex ${codex.program} ${codex.key} &`] : [];
};

/** All at once, and beside the rest. */
const reaching = ({ reach = "", others = {} }: Looked): string[] => [
  sh`see_reach ${reach} &`,
  ...Object.entries(others).map(([name, address]) => sh`see_reach ${address} ${name} &`),
];

const restsOn = (subject: Subject): string[] => {
  const { places, unit } = subject;
  return [
    ...[places.env, places.config, places.launcher, ...Object.values(codexTexts(subject))],
    ...[`/etc/systemd/system/${unit}`, `/etc/systemd/system/${unit}.d`],
  ];
};
