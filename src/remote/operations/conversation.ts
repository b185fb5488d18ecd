import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { waitFor } from "../../async/wait.js";
import { asFault, Fault } from "../../errors.js";
import { tailOf } from "../../text/last-lines.js";
import type { Exit, Shell } from "../process.js";

/** A script that runs on the host and answers line by line while we talk to it. One exec. */
export interface Conversation {
  /** The next line the script told us. It is a fault when the script ends, so the script must say its last word. */
  next(): Promise<string>;
  say(bytes: string | Buffer): void;
  /** Nothing more will be said. Resolves when the script is gone, or was given the time for it. */
  hangUp(): Promise<void>;
  /** From now on the host may take this long; without a number, for ever. */
  setTimeLimit(milliseconds?: number): void;
}

// Milliseconds a script may take to end when it has been told that nothing more comes.
const exitTimeout = 10_000;

/** The word with which a script begins its lines: a banner, a `.bashrc` that talks, anything may write to stdout. */
export const newNonce = (): string => `clm-${randomBytes(16).toString("hex")}`;

/** Starts a script on the host. When it is told to stop, it is left alone, to end when it next tells us something. */
export async function converse(
  shell: Shell,
  nonce: string,
  script: string,
  signal?: AbortSignal,
): Promise<Conversation> {
  // Not with the signal: a script must not be killed in the middle of what it does.
  const process = await shell.spawn(commandFor(script));
  const answers = linesOf(process.stdout, nonce);
  const stderrTail = tailOf(process.stderr);
  const ending = process.done.catch(asFault);

  let timer: NodeJS.Timeout | undefined;
  let stop: (fault: Fault) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  stopped.catch(() => {});
  const interrupt = () => {
    process.leave();
    stop(new Fault("interrupted", "stopped while the host was at work"));
  };
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt, { once: true });
  ending.then(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", interrupt);
  });

  process.stdin.write(script);
  return {
    async next() {
      const answer = await Promise.race([answers.next(), stopped]);
      if (!answer.done) return answer.value;
      // It may still be waiting for a word.
      process.stdin.end();
      throw brokenOff(await Promise.race([ending, stopped]), stderrTail());
    },
    say: (bytes) => void process.stdin.write(bytes),
    async hangUp() {
      process.stdin.end();
      const drained = async () => {
        while (!(await answers.next()).done);
        await ending;
      };
      // A script that does not end when its stdin does is left alone, like one whose connection was lost.
      const late = { timeout: exitTimeout, late: () => new Fault("remote-timeout", "the host did not hang up") };
      await waitFor(Promise.race([drained(), stopped]), late).catch(() => process.leave());
      clearTimeout(timer);
    },
    setTimeLimit(milliseconds) {
      clearTimeout(timer);
      if (milliseconds === undefined) return;
      timer = setTimeout(() => {
        process.kill("TERM");
        stop(new Fault("remote-timeout", `the host took longer than ${milliseconds / 1000} s`));
      }, milliseconds);
    },
  };
}

/**
 * The command line is tiny and means the same to any login shell. The script is the first bytes of stdin, and dd
 * takes not one more: what follows is for the script (busybox's `head -c` reads ahead).
 */
export const scriptShell = (script: string): string =>
  `/bin/sh -c 'eval "$(dd bs=${Buffer.byteLength(script)} count=1 iflag=fullblock status=none)"'`;

/** The same in the place of the login shell. */
export const commandFor = (script: string): string => `exec ${scriptShell(script)}`;

function brokenOff(end: Exit | Fault, stderr: string): Fault {
  if (end instanceof Fault) return end;
  const how = end.signal === undefined ? `exit code ${end.code}` : `signal ${end.signal}`;
  return new Fault("remote-failed", "the host broke off in the middle of its answer", {
    why: [`its script ended with ${how}`, ...(stderr ? [stderr] : [])],
  });
}

const maxLineLength = 1 << 20;

/** What follows the nonce on each line that has one. Noise without a newline may stand before it. */
async function* linesOf(stream: Readable, nonce: string): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = (lines.pop() ?? "").slice(-maxLineLength);
      for (const line of lines) {
        const at = line.indexOf(`${nonce} `);
        if (at >= 0) yield line.slice(at + nonce.length + 1).trimEnd();
      }
    }
  } catch {
    // A stream that breaks is a stream that ends; `done` knows why.
  }
  return undefined;
}
