import { Fault } from "../../../errors.js";
import { compareVersions } from "../../manifest/versions.js";

/** What a permission profile lets Codex' tools do, as far as that can be known before it is tried. */
export type Reach = "read" | "write" | "everything" | "unknown";

/** What having no sandbox at all is called: first the one, then the other. */
const names = [":danger-no-sandbox", ":danger-full-access"];

const everything = (version: string, known: Known): string =>
  known?.find((name) => names.includes(name)) ??
  (compareVersions(version, "0.131.0") < 0 ? ":danger-no-sandbox" : ":danger-full-access");

type Known = readonly string[] | null | undefined;

/**
 * The name of a permission profile as the installed Codex knows it. `known` are the names it lists, where it has a list; a
 * profile of the user's own has no colon, and only a thread tells what it is worth.
 */
export function profileFor(word: string, version: string, known: Known): string {
  const name = inFull(word, version, known);
  if (!name.startsWith(":")) return name;
  const all = known?.filter((each) => each.startsWith(":")) ?? [":read-only", ":workspace", everything(version, known)];
  if (all.includes(name)) return name;
  throw new Fault("bad-input", `Codex ${version} has no permission profile ${name}`, {
    why: all.length > 0 ? `there are ${all.join(", ")}, and those of your own in its config.toml` : "it lists none",
    data: { profiles: all },
  });
}

function inFull(word: string, version: string, known: Known): string {
  if (word === "read-only" || word === "workspace") return `:${word}`;
  // Each version by its own name, so that one flag means the same on every host.
  return [...names, "full-access"].includes(word) ? everything(version, known) : word;
}

/** Of a profile's name, or the word for it. */
export function reachOf(profile: string): Reach {
  if (/^:?read-only$/.test(profile)) return "read";
  if (/^:?workspace$/.test(profile)) return "write";
  return profile === "full-access" || names.includes(profile) ? "everything" : "unknown";
}

/** Whether two names, or the words for them, mean the same profile. */
export const isSameProfile = (a: string, b: string): boolean =>
  a === b || (reachOf(a) !== "unknown" && reachOf(a) === reachOf(b));

/** What a thread calls the sandbox of such a profile. */
export const sandboxOf: Record<Exclude<Reach, "unknown">, string> = {
  read: "readOnly",
  write: "workspaceWrite",
  everything: "dangerFullAccess",
};
