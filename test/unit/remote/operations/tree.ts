import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join, relative } from "node:path";

/** What stands under a directory, as a case writes it: names, and for each its content, mode and owner. */
export type Tree = Record<string, TreeEntry>;

type TreeEntry = ({ file: string; mode: string } | { dir: string } | { link: string }) & {
  /** `user:group`; without it, ours. */
  owner?: string;
};

export const me = userInfo().username;

export function plant(root: string, tree: Tree): void {
  for (const [name, entry] of Object.entries(tree)) {
    const path = join(root, name);
    if ("file" in entry) writeFileSync(path, entry.file);
    else if ("dir" in entry) mkdirSync(path);
    else symlinkSync(entry.link, path);
    if (entry.owner) spawnSync("chown", ["-h", entry.owner, path]);
    if (!("link" in entry)) chmodSync(path, Number.parseInt("file" in entry ? entry.mode : entry.dir, 8));
  }
}

export function survey(root: string): Tree {
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).map(({ parentPath, name }) =>
    relative(root, join(parentPath, name)),
  );
  return Object.fromEntries(names.map((name) => [name, entryAt(join(root, name))]));
}

function entryAt(path: string): TreeEntry {
  const stat = lstatSync(path);
  const mode = (stat.mode & 0o7777).toString(8).padStart(4, "0");
  const owner = ownerOf(stat);
  const rest = owner === ours ? {} : { owner };
  if (stat.isSymbolicLink()) return { link: readlinkSync(path), ...rest };
  if (stat.isDirectory()) return { dir: mode, ...rest };
  return { file: readFileSync(path, "utf8"), mode, ...rest };
}

const names = (database: "passwd" | "group") => {
  const lines = readFileSync(`/etc/${database}`, "utf8").split("\n");
  return new Map(lines.map((line) => line.split(":")).map(([name, , id]) => [Number(id), name]));
};
const users = names("passwd");
const groups = names("group");
const ownerOf = ({ uid, gid }: Stats) => `${users.get(uid)}:${groups.get(gid)}`;
const ours = ownerOf(statSync("/proc/self"));
