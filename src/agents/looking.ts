import { quote, sh } from "../quote.js";
import { fill } from "../render/template.js";
import beginning from "./looking.sh?raw";
import type { Subject } from "./subject.js";

/** A script that looks at an agent: a library of functions, what they look at, and the calls. It holds nothing secret. */
export const lookScript = (subject: Subject, library: string, parts: string[]): string =>
  [lookBeginning(library), settingsOf(subject), ...parts, "say end yes", ""].join("\n");

/** The functions. The host has no use for the comments. */
export const lookBeginning = (library: string): string => (beginning + library).replace(/^\s*#.*\n/gm, "");

/** Who is looked at. */
export function settingsOf({ user, unit, places }: Subject): string {
  return sh`user=${user} unit=${unit} home=${places.home} data=${places.data} env=${places.env}`;
}

/** The call that reads the installed version, by `see_version` or a function that guards it, and says it as the launcher would. */
export function versionCall(subject: Subject, see = "see_version"): string {
  const { places, manifest } = subject;
  const { line, constants } = manifest.version;
  const look = sh`${see} ${[versionFile(subject), places.launcher, constants.reports, constants.version]}`;
  // Filled in by the shell that has just read them.
  const [reports, version] = ["{reports}", "{version}"];
  const parts = (fill(line, { reports, version }) ?? "").split(/(\{reports\}|\{version\})/);
  const said = parts.map((part) => (part === reports ? '"$reports"' : part === version ? '"$version"' : quote(part)));
  return `if ${look}; then say version ${said.join("")}; elif [ -n "$uid" ]; then say version ''; fi`;
}

/** The file of the installed release that says which one it is. */
export function versionFile({ places: { path: _, ...places }, manifest }: Subject): string {
  return fill(manifest.version.file, places) ?? "";
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
      `{\n${text}\nsay end yes\n} | sed -u 's/^/${at} /' &`,
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
