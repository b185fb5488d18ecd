import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../../errors.js";
import { writeNew } from "../../../state/atomic-file.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import type { Session } from "../../session.js";

/** Opens the text in the user's editor, in a private temporary directory. `trouble`: why the edit does not count. */
export async function inEditor(
  session: Session,
  name: string,
  text: Uint8Array,
): Promise<{ bytes: Buffer; trouble: string | undefined }> {
  const words = editorWords(session.env);
  const directory = await mkdtemp(join(openSubdirectory(session.configDir, "edits"), "edit-"));
  const path = join(directory, name);
  try {
    writeNew(path, text);
    const trouble = await edit(words, path);
    return { bytes: await readFile(path).catch(() => Buffer.from(text)), trouble };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function edit(words: string[], path: string): Promise<string | undefined> {
  const [program = "", ...args] = words;
  const takeBack = giveCtrlC();
  return new Promise<string | undefined>((done, failed) => {
    const child = spawn(program, [...args, path], { stdio: "inherit" });
    child.on("error", (error: NodeJS.ErrnoException) => failed(noEditor(program, error)));
    child.on("exit", (code, signal) => done(code === 0 ? undefined : `the editor ended with ${signal ?? code}`));
  }).finally(takeBack);
}

/** Editors (vim, nano) use Ctrl-C as a key, but the signal reaches clm too. */
function giveCtrlC(): () => void {
  const listeners = process.listeners("SIGINT");
  process.removeAllListeners("SIGINT");
  const ignore = () => {};
  process.on("SIGINT", ignore);
  return () => {
    process.off("SIGINT", ignore);
    for (const listener of listeners) process.on("SIGINT", listener as NodeJS.SignalsListener);
  };
}

const noEditor = (program: string, error: NodeJS.ErrnoException) =>
  new Fault("local-setup", `the editor ${program} cannot be started`, {
    why: error.code === "ENOENT" ? "there is no such program" : error.message,
    next: "export EDITOR=nano",
    cause: error,
  });

export function editorWords(env: NodeJS.ProcessEnv): string[] {
  const variable = env.VISUAL?.trim() ? "VISUAL" : "EDITOR";
  const words = wordsIn(env[variable] ?? "");
  if (words) return words.length > 0 ? words : ["vi"];
  throw new Fault("bad-input", `$${variable} cannot be read as a command`, { why: "a quote in it is not closed" });
}

// A word consists of quoted text, escaped characters and plain text.
const piece = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gs;
const word = new RegExp(`(?:${piece.source})+`, "gs");

/** Splits a command line as a shell would, by quotes and backslashes only; undefined when it is incomplete. */
export function wordsIn(line: string): string[] | undefined {
  if (line.replace(word, "").trim() !== "") return undefined;
  const plain = (_: string, single?: string, double?: string, escaped?: string, bare?: string) =>
    single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? bare ?? "";
  return (line.match(word) ?? []).map((text) => text.replace(piece, plain));
}
