import { sh } from "../../quote.js";
import { codexTexts, runsOnCodex } from "../codex/runtime.js";
import { environmentOf } from "../environment.js";
import { lookBeginning, manyScript, settingsOf, versionCall, versionFile } from "../looking.js";
import { privatePlaces } from "../private-places.js";
import { proofLibrary } from "../proof/library.js";
import { serverCalls, textsCall } from "../proof/script.js";
import { proxyUnit } from "../proxy/proxy.js";
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
  return scriptOf([...agents.map((_, at) => `IFS= read -r key_${at}`), everyone], agents.map(section));
}

/**
 * The same for a short look, which tells whether anything has changed since a whole one. No key is needed, no wrong one is
 * tried, and no program is started.
 */
export const glanceScript = (agents: readonly Looked[]): string => scriptOf([everyone], agents.map(glance));

/** The same for what tells whether agents are as they were configured. Nothing is asked of them, so no key is needed. */
export const truthScript = (agents: readonly Looked[]): string => scriptOf([], agents.map(truth));

const scriptOf = (first: string[], sections: string[]): string => manyScript(proofLibrary + library, first, sections);

const straysCall = (subject: Subject): string => {
  const { manifest, unit } = subject;
  return sh`see_strays ${[unit, ...(manifest.proxy ? [proxyUnit(subject, manifest.proxy)] : [])]}`;
};

/** The script that looks only for processes of a user outside these units. */
export const straysScript = (user: string, units: string[]): string =>
  [
    lookBeginning(proofLibrary + library),
    sh`user=${user}`,
    everyone,
    "see_account",
    sh`see_strays ${units}`,
    "say end yes",
    "",
  ].join("\n");

/** Every process of the host with its user, looked at once for all agents. */
const everyone = "everyone=$(stat -c %u:%n /proc/[0-9]* 2>/dev/null)";

function section(looked: Looked, at: number): string {
  const { subject, rendered } = looked;
  const { manifest, port, places } = subject;
  const { health, models } = manifest.api;
  return [
    settingsOf(subject),
    sh`port=${port} health=${health} models=${models} chat='' salt=${rendered?.salt ?? ""} config=${places.config}`,
    `key=$key_${at}`,
    // An agent that hangs must not take all the time its host has to answer, or it is told as a host that does not.
    "answer_seconds=6",
    "see_account",
    sh`see_touched ${restsOn(subject)}`,
    `{ ${versionCall(subject)}; } &`,
    ...reaching(looked),
    ...codexCall(subject),
    ...(rendered ? ["see_rendered", textsCall(subject)] : []),
    sh`see_files ${privatePlaces(subject).flatMap(({ name, path }) => [name, path])}`,
    "see_unit",
    straysCall(subject),
    "see_use cpu.first",
    "see_room",
    "see_channels",
    ...serverCalls(subject),
    "see_errors",
    "see_open_ports &",
    "see_api",
    "wait",
    "see_use cpu.last",
  ].join("\n");
}

function truth({ subject, rendered }: Looked): string {
  return [
    settingsOf(subject),
    sh`salt=${rendered?.salt ?? ""} config=${subject.places.config}`,
    "see_account",
    `{ ${versionCall(subject)}; } &`,
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
    ...[
      "see_unit",
      straysCall(subject),
      "see_use cpu.first",
      "see_room",
      "see_channels",
      "see_port",
      "see_open_ports &",
      "see_health",
      "wait",
    ],
  ].join("\n");
}

const codexCall = (subject: Subject): string[] => {
  const { codex } = subject.manifest;
  if (!codex || !runsOnCodex(subject)) return [];
  return [sh`search=${environmentOf(subject).PATH ?? ""}`, sh`see_codex ${codex.program} ${codex.key} &`];
};

/** All at once, and beside the rest. */
const reaching = ({ reach = "", others = {} }: Looked): string[] => [
  sh`see_reach ${reach} &`,
  ...Object.entries(others).map(([name, address]) => sh`see_reach ${address} ${name} &`),
];

const restsOn = (subject: Subject): string[] => {
  const { places, unit } = subject;
  return [
    ...[places.env, places.config, places.launcher, versionFile(subject), ...Object.values(codexTexts(subject))],
    ...[`/etc/systemd/system/${unit}`, `/etc/systemd/system/${unit}.d`],
  ];
};
