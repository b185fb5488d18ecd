import { Fault } from "../../../errors.js";
import { compareVersions } from "../../manifest/versions.js";

/** What a permission profile allows Codex' tools, judged by its name. */
export type Reach = "read" | "write" | "everything" | "unknown";

/** The profile without a sandbox, in older and newer versions. */
const [older, newer] = [":danger-no-sandbox", ":danger-full-access"];

/** The profile's full name in this version. `known` are the names it lists, if it can. A user's own has no colon. */
export function profileFor(word: string, version: string, known: readonly string[] | null | undefined): string {
  const listed = known?.find((name) => name === older || name === newer);
  const everything = listed ?? (compareVersions(version, "0.131.0") < 0 ? older : newer);
  // One flag means the same with every version.
  const full = { read: ":read-only", write: ":workspace", everything, unknown: word };
  const name = full[reachOf(word)];
  if (!name.startsWith(":")) return name;
  const all = known?.filter((each) => each.startsWith(":")) ?? [full.read, full.write, everything];
  if (all.includes(name)) return name;
  throw new Fault("bad-input", `Codex ${version} has no permission profile ${name}`, {
    why: all.length > 0 ? `there are ${all.join(", ")}, and those of your own in its config.toml` : "it lists none",
    data: { profiles: all },
  });
}

export function reachOf(profile: string): Reach {
  if (/^:?read-only$/.test(profile)) return "read";
  if (/^:?workspace$/.test(profile)) return "write";
  return ["full-access", older, newer].includes(profile) ? "everything" : "unknown";
}

export const isSameProfile = (a: string, b: string): boolean =>
  a === b || (reachOf(a) !== "unknown" && reachOf(a) === reachOf(b));

/** The sandbox of a profile, as a thread names it. */
export const sandboxOf: Record<Exclude<Reach, "unknown">, string> = {
  read: "readOnly",
  write: "workspaceWrite",
  everything: "dangerFullAccess",
};
