import { quote, sh } from "../../quote.js";
import { fill } from "../files/template.js";
import { privatePaths } from "../plan/account.js";
import { namedPaths, type ResolvedAgent } from "../plan/resolved-agent.js";
import prelude from "./prelude.sh?raw";

/** Functions, settings, calls. It holds no secret. */
export const probeScript = (agent: ResolvedAgent, library: string, parts: string[]): string =>
  [probeLibrary(library), settingsOf(agent), ...parts, "say end yes", ""].join("\n");

/** Without the comments, which the host does not need. */
export const probeLibrary = (library: string): string => (prelude + library).replace(/^\s*#.*\n/gm, "");

export function settingsOf({ user, unit, paths }: ResolvedAgent): string {
  return sh`user=${user} unit=${unit} home=${paths.home} data=${paths.data} env=${paths.env}`;
}

export const apiSettings = ({ port, manifest: { api }, settings }: ResolvedAgent): string =>
  sh`port=${port} health=${fill(api.health, settings) ?? api.health} models=${api.models ?? ""}`;

/** Probes what the agent serves on its port, and what else its processes listen on. */
export const serviceCall = ({ serves }: ResolvedAgent): string => (serves === "http" ? "probe_api" : "probe_port");

/** Reads the installed version, by `probe_version` or a function that guards it, and prints the launcher's line. */
export function versionCall(agent: ResolvedAgent, probe = "probe_version"): string {
  const { paths, manifest } = agent;
  if (!manifest.version) return ":";
  const { line, constants } = manifest.version;
  const probed = sh`${probe} ${[versionFile(agent), paths.launcher, constants.reports, constants.version]}`;
  // Filled in by the shell that has just read them.
  const [reports, version] = ["{reports}", "{version}"];
  const parts = (fill(line, { reports, version }) ?? "").split(/(\{reports\}|\{version\})/);
  const said = parts.map((part) => (part === reports ? '"$reports"' : part === version ? '"$version"' : quote(part)));
  return `if ${probed}; then say version ${said.join("")}; elif [ -n "$uid" ]; then say version ''; fi`;
}

/**
 * Probes an agent's files with one stat and reads them with one process. `parts` are those of probe_own_files; `texts`
 * are the files that others write to as well; with `touched`, also prints when the files it depends on last changed.
 */
export function filesCalls(
  agent: ResolvedAgent,
  all: OwnPart[],
  { texts = {}, touched = false }: { texts?: Record<string, string> | undefined; touched?: boolean } = {},
): { probe: string; read: string[] } {
  const { paths, unit, manifest } = agent;
  const { constants = { reports: "", version: "" } } = manifest.version ?? {};
  const parts: string[] = manifest.version ? all : all.filter((part) => part !== "version");
  const sources: [part: string, path: string][] = [
    ["version", versionFile(agent)],
    ["gateway", `${paths.data}/gateway_state.json`],
    ["error", `${paths.data}/logs/errors.log`],
    ...Object.entries(texts).map(([name, path]): [string, string] => [`text.${name}`, path]),
    // Slow parts come last.
    ["variable", paths.env],
  ];
  const read = sources.filter(([part]) => part.startsWith("text.") || parts.includes(part));
  const restsOn = touched
    ? [
        [".launcher", paths.launcher],
        ...(manifest.version ? [[".version", versionFile(agent)]] : []),
        [".unit", `/etc/systemd/system/${unit}`],
        [".drop-ins", `/etc/systemd/system/${unit}.d`],
      ]
    : [];
  const stated = [
    ...privatePaths(agent).map(({ name, path }) => [name, path]),
    ...read.filter(([part]) => part !== "version" && part !== "variable").map(([part, path]) => [`.${part}`, path]),
    ...restsOn,
  ];
  const counted = touched
    ? ["env", ...(paths.config ? ["config"] : []), ...Object.keys(texts).map((name) => `.text.${name}`)]
    : [];
  return {
    probe: sh`probe_files ${[...counted, ...restsOn.map(([name]) => name)].join(" ")} ${stated.flat()}`,
    read: [
      ...(parts.includes("gateway") ? ["say connections yes"] : []),
      sh`probe_own_files ${agent.paths.launcher} ${constants.reports} ${constants.version} ${read.flat()}`,
      ...(parts.includes("version") ? [versionCall(agent, "has_version")] : []),
    ],
  };
}

/** A file that is read with the agent's rights; `error` is the end of its error log, `variable` the lines of `.env`. */
export type OwnPart = "version" | "gateway" | "error" | "variable";

/** A text that came in pieces: lines after a colon, parts of a line after `>`, or base64. */
export const textFrom = (pieces: string[]): Buffer =>
  Buffer.concat(
    pieces.map((piece) => {
      if (piece.startsWith(":")) return Buffer.from(`${piece.slice(1)}\n`);
      return piece.startsWith(">") ? Buffer.from(piece.slice(1)) : Buffer.from(piece, "base64");
    }),
  );

/** The file of the installed release that has its version. */
export const versionFile = ({ paths, manifest }: ResolvedAgent): string =>
  (manifest.version && fill(manifest.version.file, namedPaths(paths))) ?? "";

const atOnce = 8;

/** Probes several agents at once. A line about one begins with its number. Only `first` may read stdin. */
export function probeScriptForMany(library: string, first: string[], sections: string[]): string {
  const whole = sections.map((text, at) => `prefix='${at} '\n${text}\nsay end yes`);
  const all = whole.flatMap((text, at) => [
    // A single agent needs no process of its own.
    whole.length > 1 ? `(\n${text}\n) &` : `${text}\nprefix=''`,
    // Each starts dozens of short programs: a host should not have to start all of them at once.
    ...(at % atOnce === atOnce - 1 ? ["wait"] : []),
  ]);
  return [probeLibrary(library), ...first, "exec </dev/null", ...all, "wait", "say end yes", ""].join("\n");
}

export function splitSections(text: string, count: number): string[] {
  const lines = Array.from({ length: count }, (): string[] => []);
  for (const line of text.split("\n")) {
    const [, number = "", rest = ""] = /^(\d+) (.*)$/s.exec(line) ?? [];
    lines[Number(number || -1)]?.push(rest);
  }
  return lines.map((each) => each.join("\n"));
}

export type ProbeLine = [key: string, value: string];

/** The lines of a probe script, in order; undefined when it is incomplete. */
export function parseLines(text: string): ProbeLine[] | undefined {
  const lines = text.split("\n").map((line): ProbeLine => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return lines.some(([key]) => key === "end") ? lines : undefined;
}

export const allIn = (lines: readonly ProbeLine[], key: string): string[] =>
  lines.flatMap(([name, value]) => (name === key ? [value] : []));
