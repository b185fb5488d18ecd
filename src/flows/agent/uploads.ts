import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, normalize, resolve } from "node:path";
import type { Field } from "../../agents/manifest/manifest.js";
import type { UploadedFile } from "../../agents/plan/resolved-agent.js";
import { Fault } from "../../errors.js";

const maxFiles = 500;
const maxBytes = 16 * 1024 * 1024;

interface Upload {
  path: string;
  name: string;
}

/** `PATH` or `PATH=NAME`, separated by commas; a path may have an equals sign only when a name follows. */
export const uploadsIn = (text: string): Upload[] =>
  text
    .split(",")
    .filter(Boolean)
    .map((item) => {
      const at = item.lastIndexOf("=");
      return at < 0 ? { path: item, name: basename(item) } : { path: item.slice(0, at), name: item.slice(at + 1) };
    });

/** Makes paths absolute: the record outlives the working directory of a command. */
export const withAbsolutePaths = (text: string): string =>
  uploadsIn(text)
    .map(({ path, name }) => {
      const full = resolve(path);
      return name === basename(full) && !full.includes("=") ? full : `${full}=${name}`;
    })
    .join(",");

/** Directories are read recursively. */
export async function uploadsFor(fields: Field[], settings: Record<string, string>): Promise<UploadedFile[]> {
  const found: UploadedFile[] = [];
  for (const { name } of fields.filter(({ upload }) => upload)) {
    for (const { path, name: target } of uploadsIn(settings[name] ?? "")) await addFiles(path, target, found);
  }
  const names = found.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Fault("bad-input", `two files would be called ${twice} on the host`);
  const both = names.find((name) => names.some((other) => other.startsWith(`${name}/`)));
  if (both !== undefined) throw new Fault("bad-input", `${both} would be a file and a directory on the host`);
  return found;
}

async function addFiles(path: string, name: string, found: UploadedFile[]): Promise<void> {
  const info = await stat(path).catch(unreadable(path));
  if (info.isDirectory()) {
    for (const entry of (await readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const full = join(path, entry.name);
      // A link to a directory may form a cycle.
      if (entry.isSymbolicLink() && (await stat(full).catch(() => undefined))?.isDirectory())
        throw new Fault("bad-input", `${full} is a link to a directory`, { why: "name that directory itself" });
      await addFiles(full, join(name, entry.name), found);
    }
    return;
  }
  if (!info.isFile()) throw new Fault("bad-input", `${path} is neither a file nor a directory`);
  const total = found.reduce((sum, { content }) => sum + content.length, info.size);
  if (found.length >= maxFiles || total > maxBytes) {
    throw new Fault("bad-input", `${path} is over the limit for uploads`, {
      why: `at most ${maxFiles} files of ${maxBytes / 1024 / 1024} MB in all are copied; fetch the rest on the host`,
    });
  }
  const content = await readFile(path).catch(unreadable(path));
  found.push({ name: nameOnHost(name), content, executable: (info.mode & 0o100) !== 0 });
}

const unreadable =
  (path: string) =>
  (error: Error): never => {
    throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
  };

function nameOnHost(name: string): string {
  const plain = normalize(name);
  if (name !== "" && plain !== "." && !/^\/|\/$/.test(plain) && !name.split("/").includes("..")) return plain;
  throw new Fault("bad-input", `'${name}' is not a name for a file on the host`, {
    why: "it is relative to the agent's program directory, and stays inside it",
  });
}
