import { type ExecFileException, execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { readAll } from "../async/read-all.js";
import { Fault } from "../errors.js";
import { sh } from "../quote.js";
import { Secret } from "../secret.js";
import { own } from "../text/own-property.js";
import { programOf } from "./gate.js";
import type { Session } from "./session.js";

export type SecretSource =
  | { kind: "env"; name: string }
  | { kind: "file"; path: string }
  | { kind: "cmd"; command: string }
  | { kind: "stdin" }
  | { kind: "prompt" }
  /** Entered already. */
  | { kind: "given"; secret: Secret };

/** How a secret is called in messages. */
export interface SecretLabel {
  /** Within a sentence: `the key of openai`. */
  what: string;
  /** The flag that provides it without a prompt. */
  flag: string;
  /** The prompt, instead of `what`. */
  ask?: string;
}

// Bytes: no secret is longer.
const largest = 64 * 1024;
const commandTimeout = 60_000;

/** `env:NAME`, `file:PATH`, `cmd:COMMAND`, `-` or `prompt`. Other text may be the secret itself and is not quoted. */
export function parseSource(text: string): SecretSource {
  if (text === "-") return { kind: "stdin" };
  if (text === "prompt") return { kind: "prompt" };
  const [, kind, rest = ""] = /^(env|file|cmd):(.+)$/s.exec(text) ?? [];
  if (kind === "env" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(rest)) return { kind, name: rest };
  // A stored reference must not depend on the working directory.
  if (kind === "file") return { kind, path: resolve(rest.replace(/^~(?=\/)/, process.env.HOME ?? "~")) };
  if (kind === "cmd" && rest.trim() !== "") return { kind, command: rest };
  if (kind === "env") throw new Fault("bad-input", "env: needs the name of a variable", { why: sources });
  throw new Fault("bad-input", "a secret is never an argument", {
    why: ["every user of this machine can read the arguments of every process", sources],
  });
}

const sources = "give its source: env:NAME, file:PATH, cmd:COMMAND, - for stdin, or prompt";

/** The source as typed, if it can be read again later. */
export function referenceOf(source: SecretSource): string | undefined {
  if (source.kind === "env") return `env:${source.name}`;
  if (source.kind === "file") return `file:${source.path}`;
  return source.kind === "cmd" ? `cmd:${source.command}` : undefined;
}

/** Fetches the secret, and redacts it from now on. */
export async function secretFrom(session: Session, source: SecretSource, wanted: SecretLabel): Promise<Secret> {
  const text = await textFrom(session, source, wanted);
  const secret = new Secret(text);
  session.ui.hide(secret);
  const trouble = troubleWith(text);
  if (!trouble) return secret;
  throw new Fault("bad-input", `${wanted.what} ${trouble}`, { why: `it came from ${nameOf(source)}` });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
const control = /[\u0000-\u001f\u007f]/;

function troubleWith(text: string): string | undefined {
  if (text.trim() === "") return "is empty";
  if (/[\r\n]/.test(text)) return "has more than one line";
  if (control.test(text)) return "contains a control character";
  return text.includes("\ufffd") ? "is not text" : undefined;
}

function nameOf(source: SecretSource): string {
  if (source.kind === "env") return `the variable ${source.name}`;
  if (source.kind === "file") return source.path;
  // A command line may contain secrets: only its program is named.
  if (source.kind === "cmd") return `the command ${programOf([source.command])}`;
  return source.kind === "stdin" ? "stdin" : "the prompt";
}

async function textFrom(session: Session, source: SecretSource, wanted: SecretLabel): Promise<string> {
  switch (source.kind) {
    case "env":
      return fromVariable(session, source.name, wanted);
    case "file":
      return withoutNewline(await fromFile(session, source.path, wanted));
    case "cmd":
      return withoutNewline(await fromCommand(session, source.command, wanted));
    case "stdin":
      return withoutNewline(await fromStdin(session, wanted));
    case "prompt":
      return ask(session, wanted);
    case "given":
      return source.secret.reveal();
  }
}

const withoutNewline = (text: string): string => text.replace(/\r?\n$/, "");
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ask = async ({ ui }: Session, { what, flag, ask: question = capital(what) }: SecretLabel): Promise<string> =>
  (await ui.askSecret({ message: `${question}:`, flag })).reveal();

function fromVariable({ env }: Session, name: string, { what }: SecretLabel): string {
  const value = own(env, name);
  if (value !== undefined) return value;
  throw new Fault("bad-input", `${what} should be in $${name}, which is not set`, { next: `export ${name}` });
}

async function fromFile(session: Session, path: string, { what }: SecretLabel): Promise<string> {
  const failed = (why: string, cause?: unknown) => unreadable(what, path, why, cause);
  return readPrivateFile(session, path, { maxBytes: largest, tooLong, failed });
}

interface PrivateFileOptions {
  maxBytes: number;
  /** Why a file with more bytes is refused. */
  tooLong: string;
  failed: (why: string, cause?: unknown) => Fault;
}

/** Reads a file with secrets. Warns when others can read it too. */
export async function readPrivateFile(
  { ui, signal }: Session,
  path: string,
  { maxBytes, tooLong, failed }: PrivateFileOptions,
): Promise<string> {
  const tooMuch = () => failed(tooLong);
  try {
    await using file = await open(path, "r");
    const { mode, size } = await file.stat();
    if (size > maxBytes) throw tooMuch();
    if (mode & 0o077) ui.warn(`others can read ${path}: ${sh`chmod 600 ${path}`}`);
    const stream = file.createReadStream({ autoClose: false });
    return (await readAll(stream, { signal, maxBytes, tooMuch })).toString("utf8");
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Fault ? error : failed((error as Error).message, error);
  }
}

const readAlready = new WeakSet<Session>();

async function fromStdin(session: Session, wanted: SecretLabel): Promise<string> {
  if (readAlready.has(session)) {
    throw new Fault("bad-input", `stdin was read already, and ${wanted.what} should come from there too`, {
      why: "one secret comes from stdin; give the other one as env:NAME, file:PATH or cmd:COMMAND",
    });
  }
  readAlready.add(session);
  const stdin = session.stdin();
  // On a terminal the input would be visible.
  if (stdin.isTTY) return ask(session, wanted);
  const tooMuch = () => unreadable(wanted.what, "stdin", tooLong);
  return (await readAll(stdin, { signal: session.signal, maxBytes: largest, tooMuch })).toString("utf8");
}

/** Stderr is printed after the command ended, when the secret is known and can be redacted from it. */
async function fromCommand({ ui, env, signal }: Session, command: string, { what }: SecretLabel): Promise<string> {
  const program = programOf([command]);
  // A child of it may hold its output open forever: execFile stops reading when it kills the command.
  const limits = { env, signal, timeout: commandTimeout, maxBuffer: largest };
  const running = promisify(execFile)("/bin/sh", ["-c", command], limits);
  running.child.stdin?.end();
  const { stdout, stderr, ...ended } = await running.catch(
    (error: ExecFileException & { stdout: string; stderr: string }) => error,
  );
  signal.throwIfAborted();
  if ("code" in ended && ended.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
    throw unreadable(what, `the command ${program}`, tooLong);
  const secret = withoutNewline(stdout);
  if (secret !== "") ui.hide(new Secret(secret));
  if (stderr !== "") ui.say(withoutNewline(stderr));
  if (!("code" in ended)) return stdout;
  throw new Fault("local-setup", `${what} could not be read: the command ${program} failed`, {
    why: ended.killed
      ? `it did not end within ${commandTimeout / 1000} s`
      : `it ended with ${ended.code ?? ended.signal}`,
  });
}

const tooLong = "it is far longer than a secret";

const unreadable = (what: string, where: string, why: string, cause?: unknown): Fault =>
  new Fault("bad-input", `${what} cannot be read from ${where}`, { why, cause });
