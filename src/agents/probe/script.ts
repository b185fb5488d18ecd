import { quote, sh } from "../../quote.js";
import { fill } from "../files/template.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import beginning from "./beginning.sh?raw";

/** A script that looks at an agent: a library of functions, what they look at, and the calls. It holds nothing secret. */
export const lookScript = (agent: ResolvedAgent, library: string, parts: string[]): string =>
  [lookBeginning(library), settingsOf(agent), ...parts, "say end yes", ""].join("\n");

/** The functions. The host has no use for the comments. */
export const lookBeginning = (library: string): string => (beginning + library).replace(/^\s*#.*\n/gm, "");

/** Who is looked at. */
export function settingsOf({ user, unit, paths }: ResolvedAgent): string {
  return sh`user=${user} unit=${unit} home=${paths.home} data=${paths.data} env=${paths.env}`;
}

/** The call that reads the installed version, by `see_version` or a function that guards it, and says it as the launcher would. */
export function versionCall(agent: ResolvedAgent, see = "see_version"): string {
  const { paths, manifest } = agent;
  const { line, constants } = manifest.version;
  const look = sh`${see} ${[versionFile(agent), paths.launcher, constants.reports, constants.version]}`;
  // Filled in by the shell that has just read them.
  const [reports, version] = ["{reports}", "{version}"];
  const parts = (fill(line, { reports, version }) ?? "").split(/(\{reports\}|\{version\})/);
  const said = parts.map((part) => (part === reports ? '"$reports"' : part === version ? '"$version"' : quote(part)));
  return `if ${look}; then say version ${said.join("")}; elif [ -n "$uid" ]; then say version ''; fi`;
}

/**
 * The call that reads an agent's files in one go, and what it says of the version. `what` is for see_own_files; `texts` are
 * the files that others write to as well.
 */
export function ownFilesCalls(agent: ResolvedAgent, what: string[], texts: Record<string, string> = {}): string[] {
  const { constants } = agent.manifest.version;
  const version = [versionFile(agent), agent.paths.launcher, constants.reports, constants.version];
  const call = sh`see_own_files ${what.join(" ")} ${version} ${Object.entries(texts).flat()}`;
  return [call, ...(what.includes("version") ? [versionCall(agent, "has_version")] : [])];
}

/** The file of the installed release that says which one it is. */
export function versionFile({ paths: { path: _, ...paths }, manifest }: ResolvedAgent): string {
  return fill(manifest.version.file, paths) ?? "";
}

const atOnce = 8;

/**
 * A script that looks at several agents at once, each in a section of its own. Each line that is about one begins with its
 * number. What comes first may read stdin; the rest of that is for somebody else.
 */
export const manyScript = (library: string, first: string[], sections: string[]): string =>
  [
    lookBeginning(library),
    ...first,
    "exec </dev/null",
    ...sections.flatMap((text, at) => [
      `(\nprefix='${at} '\n${text}\nsay end yes\n) &`,
      // Each starts dozens of short programs, and no host should have to start all of them at once.
      ...(at % atOnce === atOnce - 1 ? ["wait"] : []),
    ]),
    "wait",
    "say end yes",
    "",
  ].join("\n");

/** What such a script said of each agent, by its number. */
export function sectionsIn(text: string, count: number): string[] {
  const lines = Array.from({ length: count }, (): string[] => []);
  for (const line of text.split("\n")) {
    const [, number = "", rest = ""] = /^(\d+) (.*)$/s.exec(line) ?? [];
    lines[Number(number || -1)]?.push(rest);
  }
  return lines.map((each) => each.join("\n"));
}

/** What such a script said, in order; nothing when it broke off. */
export function saidIn(text: string): [key: string, value: string][] | undefined {
  const lines = text.split("\n").map((line): [string, string] => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return lines.some(([key]) => key === "end") ? lines : undefined;
}
