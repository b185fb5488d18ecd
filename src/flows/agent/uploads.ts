import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { Field } from "../../agents/manifest/manifest.js";
import type { UploadedFile } from "../../agents/plan/resolved-agent.js";
import { Fault } from "../../errors.js";

const maxFiles = 500;
const maxBytes = 16 * 1024 * 1024;

/** A local file or directory, and the name it gets on the host. */
interface Upload {
  path: string;
  name: string;
}

/** `PATH` or `PATH=NAME`, separated by commas. */
export const uploadsIn = (text: string): Upload[] =>
  text
    .split(",")
    .filter(Boolean)
    .map((item) => {
      const [path = "", name] = item.split("=", 2);
      return { path, name: name ?? basename(path) };
    });

/** The same with absolute paths: the record outlives the directory a command was typed in. */
export const withAbsolutePaths = (text: string): string =>
  uploadsIn(text)
    .map(({ path, name }) => {
      const full = resolve(path);
      return name === basename(full) ? full : `${full}=${name}`;
    })
    .join(",");

/** The contents of all files that an agent's settings name; a directory with everything below it. */
export async function uploadsFor(fields: Field[], settings: Record<string, string>): Promise<UploadedFile[]> {
  const found: UploadedFile[] = [];
  for (const { name } of fields.filter(({ upload }) => upload)) {
    for (const { path, name: target } of uploadsIn(settings[name] ?? "")) await addFiles(path, target, found);
  }
  const twice = found.find(({ name }, at) => found.findIndex((each) => each.name === name) !== at);
  if (twice) throw new Fault("bad-input", `two files would be called ${twice.name} on the host`);
  return found;
}

async function addFiles(path: string, name: string, found: UploadedFile[]): Promise<void> {
  mustBeInside(name);
  const info = await stat(path).catch((error: Error) => {
    throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
  });
  if (info.isDirectory()) {
    const entries = await readdir(path, { withFileTypes: true, recursive: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const full = join(entry.parentPath, entry.name);
      await addFiles(full, join(name, relative(path, full)), found);
    }
    return;
  }
  if (!info.isFile()) throw new Fault("bad-input", `${path} is neither a file nor a directory`);
  const total = found.reduce((sum, { content }) => sum + content.length, info.size);
  if (found.length >= maxFiles || total > maxBytes) {
    throw new Fault("bad-input", `${path} is one file too many`, {
      why: `at most ${maxFiles} files of ${maxBytes / 1024 / 1024} MB in all are copied; fetch the rest on the host`,
    });
  }
  found.push({ name, content: await readFile(path), executable: (info.mode & 0o100) !== 0 });
}

function mustBeInside(name: string): void {
  if (name !== "" && !name.startsWith("/") && !name.split("/").includes("..")) return;
  throw new Fault("bad-input", `'${name}' is not a name for a file on the host`, {
    why: "it is relative to the agent's program directory, and stays inside it",
  });
}
