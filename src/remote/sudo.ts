import { randomBytes } from "node:crypto";
import { PassThrough, type Readable, Transform } from "node:stream";
import { Fault } from "../errors.js";
import { sh } from "../quote.js";
import type { Secret } from "../secret.js";
import { writeWithBackpressure } from "./backpressure.js";
import type { Connection } from "./connection.js";
import type { Process, Shell } from "./process.js";
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

export function withRightsOf(user: string, door: SudoAccess): Shell {
  const { host, sudo } = door;
  if (user === host.user) return host;
  return { as: (other) => withRightsOf(other, door), spawn: (command, options) => spawnAs()(command, options) };

  function spawnAs(): Shell["spawn"] {
    if (host.user === "root")
      return (command, options) => host.spawn(sh`runuser -u ${user} -- /bin/sh -c ${command}`, options);
    if (sudo === "none") throw noSudo(host, "sudo is not installed there");
    return (command, options) =>
      sudo === "password"
        ? spawnWithPassword(door, user, command, options)
        : spawnWithoutPassword(host, user, command, options);
  }
}

/** The first line on stdout proves that sudo succeeded. The caller writes at once; after a refusal `done` says so. */
async function spawnWithoutPassword(
  host: Connection,
  user: string,
  command: string,
  options: { signal?: AbortSignal } = {},
): Promise<Process> {
  const proof = randomMark();
  const process = await host.spawn(sh`sudo -n -u ${user} -- /bin/sh -c ${withProofLine(proof, command)}`, options);
  let trouble: Fault | undefined;
  const giveUp = (why: Fault) => {
    trouble ??= why;
    process.kill("KILL");
  };
  const timer = setTimeout(() => giveUp(silentSudo(host)), sudoTimeout);
  const gate = afterProof(process.stdout, proof, () => giveUp(talkativeSudo(host)));
  gate.onPass(() => clearTimeout(timer));
  const stderr = listen(process.stderr);
  const done = process.done.then(
    (exit) => {
      if (gate.passed()) return exit;
      throw trouble ?? noSudo(host, stderr.text());
    },
    (error) => {
      throw trouble ?? error;
    },
  );
  done.catch(() => {}).then(() => clearTimeout(timer));
  return { ...process, stdout: gate.rest, stderr: stderr.copy, done };
}

// Milliseconds for sudo and PAM to prompt, to check a password and to start a command; the time a person types is not counted.
export const sudoTimeout = 20_000;

// Bytes that may come before the proof line, or beside it on stderr: a banner, a lecture.
const maxPreambleBytes = 64 * 1024;

const silentSudo = ({ target: { name } }: Connection): Fault =>
  new Fault("remote-timeout", `sudo on ${name} did not answer within ${sudoTimeout / 1000} s`, {
    next: `clm host check ${name}`,
  });

const talkativeSudo = (host: Connection): Fault =>
  noSudo(host, `it sent more than ${maxPreambleBytes / 1024} KB before it started anything`);

/**
 * sudo asks on stderr with our own prompt; a second one means the password was wrong. Only the password is written
 * before the proof line has come: a line meant for the command would be taken for a second try.
 */
async function spawnWithPassword(
  { host, passwords }: SudoAccess,
  user: string,
  command: string,
  options: { signal?: AbortSignal } = {},
): Promise<Process> {
  const proof = randomMark();
  const prompt = randomMark();
  const process = await host.spawn(
    sh`sudo -S -p ${prompt} -u ${user} -- /bin/sh -c ${withProofLine(proof, command)}`,
    options,
  );
  let tooMuch = () => {};
  const gate = afterProof(process.stdout, proof, () => tooMuch());
  const stderr = listen(process.stderr, { prompt, tooMuch: () => tooMuch() });
  let asked = 0;
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      tooMuch = () => reject(talkativeSudo(host));
      const wait = () => {
        timer = setTimeout(() => reject(noSudo(host, "it asked nothing clm understands")), sudoTimeout);
      };
      wait();
      gate.onPass(resolve);
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason), { once: true });
      process.done.then(() => reject(noSudo(host, stderr.text())), reject);
      stderr.onPrompt(async () => {
        clearTimeout(timer);
        if (asked++ > 0) return reject(noSudo(host, "the password was not accepted"));
        const password = await passwords.sudo(`${host.user}@${host.target.name}`).catch(reject);
        wait();
        if (password) process.stdin.write(`${password.reveal()}\n`);
        else reject(noSudo(host, "sudo needs a password, and there is no terminal to prompt on", passwordOptions));
      });
    });
  } catch (error) {
    process.kill("KILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
  stderr.release();
  return { ...process, stdout: gate.rest, stderr: stderr.copy };
}

export const passwordOptions = "add --sudo-password-file FILE, or set CLM_SUDO_PASSWORD";
export const randomMark = () => `clm-${randomBytes(8).toString("hex")}`;
export const withProofLine = (proof: string, command: string) => `echo ${proof}; ${command}`;

/** The output after the proof line; none if that line never comes. */
function afterProof(
  stdout: Readable,
  proof: string,
  tooMuch: () => void,
): { rest: Readable; passed(): boolean; onPass(then: () => void): void } {
  const line = Buffer.from(`${proof}\n`);
  let head: Buffer | undefined = Buffer.alloc(0);
  let then = () => {};
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!head) return done(null, chunk);
      head = Buffer.concat([head, chunk]);
      const at = head.indexOf(line);
      if (at < 0) {
        if (head.length > maxPreambleBytes) {
          head = head.subarray(0, maxPreambleBytes);
          tooMuch();
        }
        return done();
      }
      const after = head.subarray(at + line.length);
      head = undefined;
      then();
      done(null, after);
    },
  });
  stdout.pipe(rest);
  return {
    rest,
    passed: () => head === undefined,
    onPass: (callback) => {
      then = callback;
      if (head === undefined) callback();
    },
  };
}

/** Passes stderr on without sudo's prompts (which may come in pieces), and keeps its beginning for the message. */
function listen(stderr: Readable, { prompt, tooMuch }: { prompt?: string; tooMuch?: () => void } = {}) {
  const copy = new PassThrough();
  const withoutPrompts = (text: string) => (prompt ? text.replaceAll(prompt, "") : text);
  let held = "";
  let holding = prompt !== undefined;
  let searched = 0;
  let onPrompt = () => {};
  const release = () => {
    if (!holding) return;
    holding = false;
    copy.write(Buffer.from(withoutPrompts(held), "latin1"));
  };
  stderr.on("data", (chunk: Buffer) => {
    if (holding ? held.length <= maxPreambleBytes : held.length < 4096) held += chunk.toString("latin1");
    if (!holding || prompt === undefined) return writeWithBackpressure(stderr, copy, chunk);
    if (held.length > maxPreambleBytes) tooMuch?.();
    for (let at = held.indexOf(prompt, searched); at >= 0; at = held.indexOf(prompt, searched)) {
      searched = at + prompt.length;
      onPrompt();
    }
  });
  stderr.on("end", () => {
    release();
    copy.end();
  });
  return {
    copy,
    release,
    text: () => withoutPrompts(held).slice(0, 4096).trim(),
    onPrompt: (callback: () => void) => {
      onPrompt = callback;
    },
  };
}

export function noSudo(host: Connection, why: string, next?: string): Fault {
  const { name } = host.target;
  return new Fault("sudo-refused", `${host.user} cannot become root on ${name}`, {
    why: why || "sudo gave no reason",
    next: next ?? [`clm host check ${name}`, `clm host update ${name}   # when sudo there has changed`],
  });
}
