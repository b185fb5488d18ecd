import { sh } from "../quote.js";
import beginning from "./looking.sh?raw";
import type { Subject } from "./subject.js";

/** A script that looks at an agent: a library of functions, what they look at, and the calls. It holds nothing secret. */
export const lookScript = (subject: Subject, library: string, parts: string[]): string =>
  [lookBeginning(library), settingsOf(subject), ...parts, "say end yes", ""].join("\n");

/** The functions. The host has no use for the comments. */
export const lookBeginning = (library: string): string => (beginning + library).replace(/^\s*#.*\n/gm, "");

/** Who is looked at. */
export function settingsOf({ user, unit, places }: Subject): string {
  const search = [...places.path, "/usr/local/bin", "/usr/bin", "/bin"].join(":");
  return sh`user=${user} unit=${unit} home=${places.home} data=${places.data} env=${places.env} search=${search}`;
}

/** The call that asks the launcher for its version, by `see_version` or a function that guards it; and for how many seconds. */
export const versionCall = (
  { places, manifest }: Subject,
  { see = "see_version", seconds = 60 }: { see?: string; seconds?: number } = {},
): string => sh`${see} ${seconds} ${[places.launcher, ...manifest.version.args]}`;

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
      // Most start their agent's program: no host should have to start dozens at once.
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
