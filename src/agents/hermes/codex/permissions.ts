import { Fault } from "../../../errors.js";
import { compareVersions } from "../../manifest/versions.js";

/** What a permission profile allows Codex' tools, judged by its name. */
export type Reach = "read" | "write" | "everything" | "unknown";

/** The profile without a sandbox, in older and newer versions. */
const names = [":danger-no-sandbox", ":danger-full-access"];

const everything = (version: string, known: Known): string =>
  known?.find((name) => names.includes(name)) ??
  (compareVersions(version, "0.131.0") < 0 ? ":danger-no-sandbox" : ":danger-full-access");

type Known = readonly string[] | null | undefined;

/** The profile's full name in this version. `known` are the names it lists, if it can. A user's own has no colon. */
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
  // One flag means the same with every version.
  return [...names, "full-access"].includes(word) ? everything(version, known) : word;
}

export function reachOf(profile: string): Reach {
  if (/^:?read-only$/.test(profile)) return "read";
  if (/^:?workspace$/.test(profile)) return "write";
  return profile === "full-access" || names.includes(profile) ? "everything" : "unknown";
}

export const isSameProfile = (a: string, b: string): boolean =>
  a === b || (reachOf(a) !== "unknown" && reachOf(a) === reachOf(b));

/** The sandbox of a profile, as a thread names it. */
export const sandboxOf: Record<Exclude<Reach, "unknown">, string> = {
  read: "readOnly",
  write: "workspaceWrite",
  everything: "dangerFullAccess",
};
