import { randomBytes } from "node:crypto";
import { PassThrough, type Readable, Transform } from "node:stream";
import { Fault } from "../errors.js";
import { sh } from "../quote.js";
import type { Secret } from "../secret.js";
import type { Connection } from "./connection.js";
import type { Process, Shell } from "./process.js";
import type { SudoKind } from "./target.js";

/** Who answers when sudo wants a password. Returns nothing when nobody is there to ask. */
export interface Passwords {
  sudo(login: string): Promise<Secret | undefined>;
}

/** A host, how root is reached on it, and who knows the password. */
export interface Door {
  host: Connection;
  sudo: SudoKind | undefined;
  passwords: Passwords;
}

/** The same host with another user's rights. */
export function withRightsOf(user: string, door: Door): Shell {
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

/**
 * The first line on stdout proves that sudo let us through. Nothing waits for it: the caller writes at once, and when
 * sudo refused, `done` says so.
 */
async function spawnWithoutPassword(
  host: Connection,
  user: string,
  command: string,
  options: { signal?: AbortSignal } = {},
): Promise<Process> {
  const proof = mark();
  const process = await host.spawn(sh`sudo -n -u ${user} -- /bin/sh -c ${proven(proof, command)}`, options);
  const gate = afterProof(process.stdout, proof);
  const stderr = listen(process.stderr);
  return {
    ...process,
    stdout: gate.rest,
    stderr: stderr.copy,
    done: process.done.then((exit) => {
      if (gate.passed()) return exit;
      throw noSudo(host, stderr.text());
    }),
  };
}

/**
 * sudo asks on stderr with a prompt of our own, so we know when it asks and whether it asks again, which means the
 * password was wrong. Nothing but the password is written before the proof line has come: a line meant for the command
 * would be taken for a second try.
 */
async function spawnWithPassword(
  { host, passwords }: Door,
  user: string,
  command: string,
  options: { signal?: AbortSignal } = {},
): Promise<Process> {
  const proof = mark();
  const prompt = mark();
  const process = await host.spawn(
    sh`sudo -S -p ${prompt} -u ${user} -- /bin/sh -c ${proven(proof, command)}`,
    options,
  );
  const gate = afterProof(process.stdout, proof);
  const stderr = listen(process.stderr, prompt);
  const refuse = (why: string) => {
    process.kill("KILL");
    return noSudo(host, why);
  };
  let asked = 0;
  await new Promise<void>((resolve, reject) => {
    gate.onPass(resolve);
    process.done.then(() => reject(refuse(stderr.text())), reject);
    stderr.onPrompt(async () => {
      if (asked++ > 0) return reject(refuse("the password was not accepted"));
      const password = await passwords.sudo(`${host.user}@${host.target.name}`).catch((error) => void reject(error));
      if (password) process.stdin.write(`${password.reveal()}\n`);
      else reject(refuse("sudo wants a password and nobody is there to give it"));
    });
  });
  stderr.release();
  return { ...process, stdout: gate.rest, stderr: stderr.copy };
}

const mark = () => `clm-${randomBytes(8).toString("hex")}`;

const proven = (proof: string, command: string) => `echo ${proof}; ${command}`;

/** What comes after the proof line; nothing at all if it never comes. */
function afterProof(
  stdout: Readable,
  proof: string,
): { rest: Readable; passed(): boolean; onPass(then: () => void): void } {
  const line = Buffer.from(`${proof}\n`);
  let head: Buffer | undefined = Buffer.alloc(0);
  let then = () => {};
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!head) return done(null, chunk);
      head = Buffer.concat([head, chunk]);
      const at = head.indexOf(line);
      if (at < 0) return done();
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
function listen(stderr: Readable, prompt?: string) {
  const copy = new PassThrough();
  let held = "";
  let holding = prompt !== undefined;
  let seen = 0;
  let onPrompt = () => {};
  const release = () => {
    if (!holding) return;
    holding = false;
    copy.write(Buffer.from(prompt ? held.replaceAll(prompt, "") : held, "latin1"));
  };
  stderr.on("data", (chunk: Buffer) => {
    if (held.length < 4096) held += chunk.toString("latin1");
    if (!holding) return void copy.write(chunk);
    for (const asked = held.split(prompt as string).length - 1; seen < asked; seen++) onPrompt();
  });
  stderr.on("end", () => {
    release();
    copy.end();
  });
  return {
    copy,
    release,
    text: () => held.trim(),
    onPrompt: (callback: () => void) => {
      onPrompt = callback;
    },
  };
}

function noSudo(host: Connection, why: string): Fault {
  const { name } = host.target;
  return new Fault("sudo-refused", `${host.user} cannot become root on ${name}`, {
    why: why || "sudo gave no reason",
    next: [`clm host check ${name}`, `clm host update ${name}   # when sudo there has changed`],
  });
}
