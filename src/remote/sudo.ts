import { EventEmitter } from "node:events";
import { PassThrough, type Readable, Transform } from "node:stream";
import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import { sh } from "../quote.js";
import type { Secret } from "../secret.js";
import { writeWithBackpressure } from "./backpressure.js";
import type { Connection } from "./connection.js";
import type { Process, Shell } from "./process.js";
import { newNonce } from "./stdin-script.js";
import type { SudoKind } from "./target/target.js";

/** Provides the password for sudo; undefined when no person can be asked. */
export interface Passwords {
  sudo(login: string): Promise<Secret | undefined>;
}

export interface SudoAccess {
  host: Connection;
  sudo: SudoKind | undefined;
  passwords: Passwords;
}

export function withRightsOf(user: string, access: SudoAccess): Shell {
  const { host, sudo } = access;
  if (user === host.user) return host;
  return {
    as: (other) => withRightsOf(other, access),
    async spawn(command, options) {
      if (host.user === "root") return host.spawn(sh`runuser -u ${user} -- /bin/sh -c ${command}`, options);
      if (sudo === "none") throw noSudo(host, "sudo is not installed there");
      return spawnWithSudo(access, user, command, options);
    },
  };
}

/** What a process shows before its command starts: that sudo succeeded, that it asks, or more than anything it may say. */
export type SudoSigns = EventEmitter<{ pass: []; prompt: []; flood: [] }>;

/** The first line on stdout proves that sudo succeeded. It asks for a password on stderr, with our own prompt. */
async function spawnWithSudo(
  access: SudoAccess,
  user: string,
  command: string,
  options: { signal?: AbortSignal } = {},
): Promise<Process> {
  const { host, sudo } = access;
  const [proof, prompt] = [newNonce(), newNonce()];
  const asks = sudo === "password";
  const how = asks ? sh`-S -p ${prompt}` : "-n";
  const line = sh`-u ${user} -- /bin/sh -c ${withProofLine(proof, command)}`;
  const process = await host.spawn(`sudo ${how} ${line}`, options);
  const signs: SudoSigns = new EventEmitter();
  const stdout = afterProof(process.stdout, { proofLine: `${proof}\n`, signs }).rest;
  const stderr = listen(process.stderr, asks ? { prompt, signs } : {});
  const dialogue = { signs, refusal: stderr.text };
  const sudoProcess = { ...process, stdout, stderr: stderr.copy };
  if (asks) {
    await untilPassed(access, process, { ...dialogue, signal: options.signal });
    stderr.release();
    return sudoProcess;
  }
  // The caller writes at once; after a refusal `done` says so.
  const done = untilPassed(access, process, { ...dialogue, late: () => silentSudo(host) }).then(() => process.done);
  done.catch(() => {});
  return { ...sudoProcess, done };
}

// Milliseconds for sudo and PAM to prompt, to check a password and to start a command; the time a person types is not counted.
const sudoTimeout = 20_000;

// Bytes that may come before the proof line, or beside it on stderr: a banner, a lecture.
const maxPreambleBytes = 64 * 1024;
const flooded = `it sent more than ${maxPreambleBytes / 1024} KB before it started anything`;

const silentSudo = ({ target: { name } }: Connection): Fault =>
  new Fault("remote-timeout", `sudo on ${name} did not answer within ${sudoTimeout / 1000} s`, {
    next: `clm host check ${name}`,
  });

interface SudoDialogue {
  signs: SudoSigns;
  /** What sudo said, in case that it ends. */
  refusal: () => string;
  /** The fault for a sudo that neither asks nor starts the command in time. */
  late?: () => Fault;
  signal?: AbortSignal | undefined;
}

/**
 * Waits until sudo has succeeded, and answers its prompt; a second one means the password was wrong. Only the password is
 * written before the proof line has come: a line meant for the command would be taken for a second try.
 */
export async function untilPassed(
  { host, passwords }: SudoAccess,
  process: Process,
  { signs, refusal, late = () => noSudo(host, "it printed no prompt that clm recognizes"), signal }: SudoDialogue,
): Promise<void> {
  let asked = 0;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve, reject) => {
    const refuse = (why: string, next?: string) => reject(noSudo(host, why, next));
    const wait = () => {
      timer = setTimeout(() => reject(late()), sudoTimeout);
    };
    wait();
    process.done.then(() => refuse(refusal()), reject);
    signs.on("pass", resolve);
    signs.on("flood", () => refuse(flooded));
    signs.on("prompt", async () => {
      clearTimeout(timer);
      if (asked++ > 0) return refuse("the password was not accepted");
      const password = await passwords.sudo(`${host.user}@${host.target.name}`).catch(reject);
      if (!password) return refuse("sudo needs a password, and there is no terminal to prompt on", passwordOptions);
      wait();
      process.stdin.write(`${password.reveal()}\n`);
    });
  });
  try {
    await waitFor(passed, { signal });
  } catch (error) {
    process.kill("KILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const passwordOptions = "add --sudo-password-file FILE, or set CLM_SUDO_PASSWORD";
export const withProofLine = (proof: string, command: string) => `echo ${proof}; ${command}`;

/** The output after the proof line, none if that line never comes, and what came before it. A terminal shows the prompt. */
export function afterProof(
  stdout: Readable,
  { proofLine, prompt, signs }: { proofLine: string; prompt?: string; signs: SudoSigns },
): { rest: Readable; head: () => string } {
  let head = "";
  let passed = false;
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (passed) return done(null, chunk);
      head += chunk.toString("latin1");
      const at = head.indexOf(proofLine);
      if (at >= 0) {
        passed = true;
        signs.emit("pass");
        return done(null, Buffer.from(head.slice(at + proofLine.length), "latin1"));
      }
      if (head.length > maxPreambleBytes) {
        head = head.slice(0, maxPreambleBytes);
        signs.emit("flood");
      } else if (prompt && head.includes(prompt)) {
        head = head.slice(head.indexOf(prompt) + prompt.length);
        signs.emit("prompt");
      }
      done();
    },
  });
  return { rest: stdout.pipe(rest), head: () => head.trim() };
}

/** Passes stderr on without sudo's prompts (which may come in pieces), and keeps its beginning for the message. */
function listen(stderr: Readable, { prompt, signs }: { prompt?: string; signs?: SudoSigns } = {}) {
  const copy = new PassThrough();
  const withoutPrompts = (text: string) => (prompt ? text.replaceAll(prompt, "") : text);
  let held = "";
  let holding = prompt !== undefined;
  let searched = 0;
  const release = () => {
    if (!holding) return;
    holding = false;
    copy.write(Buffer.from(withoutPrompts(held), "latin1"));
  };
  stderr.on("data", (chunk: Buffer) => {
    if (holding ? held.length <= maxPreambleBytes : held.length < 4096) held += chunk.toString("latin1");
    if (!holding || prompt === undefined) return writeWithBackpressure(stderr, copy, chunk);
    if (held.length > maxPreambleBytes) signs?.emit("flood");
    for (let at = held.indexOf(prompt, searched); at >= 0; at = held.indexOf(prompt, searched)) {
      searched = at + prompt.length;
      signs?.emit("prompt");
    }
  });
  stderr.on("end", () => {
    release();
    copy.end();
  });
  return { copy, release, text: () => withoutPrompts(held).slice(0, 4096).trim() };
}

export function noSudo(host: Connection, why: string, next?: string): Fault {
  const { name } = host.target;
  return new Fault("sudo-refused", `${host.user} cannot become root on ${name}`, {
    why: why || "sudo gave no reason",
    next: next ?? [`clm host check ${name}`, `clm host update ${name}   # when sudo there has changed`],
  });
}
