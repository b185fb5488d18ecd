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

/** The call that asks the launcher for its version, by `see_version` or a function that guards it. */
export const versionCall = ({ places, manifest }: Subject, see = "see_version"): string =>
  sh`${see} ${[places.launcher, ...manifest.version.args]}`;

/** What such a script said, in order; nothing when it broke off. */
export function saidIn(text: string): [key: string, value: string][] | undefined {
  const lines = text.split("\n").map((line): [string, string] => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return lines.some(([key]) => key === "end") ? lines : undefined;
}
