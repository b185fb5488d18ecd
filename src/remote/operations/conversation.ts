import type { Readable } from "node:stream";
import { waitFor } from "../../async/wait.js";
import { asFault, Fault } from "../../errors.js";
import { tailOf } from "../../text/last-lines.js";
import type { Exit, Shell } from "../process.js";
import { commandFor } from "../stdin-script.js";

/** A script on the host that answers line by line, in one exec. */
export interface Conversation {
  /** The script's next line. The script's end is a fault, so it must send a last word. */
  next(): Promise<string>;
  say(bytes: string | Buffer): void;
  /** Ends stdin. Resolves when the script has ended or its time for that is up. */
  hangUp(): Promise<void>;
  /** The host's time limit from now on; none without a number. */
  setTimeLimit(milliseconds?: number): void;
}

// Milliseconds a script may take to end after its stdin has ended.
const exitTimeout = 10_000;

/** Starts a script on the host. When aborted, the script is not killed: it ends at its next write. */
export async function converse(
  shell: Shell,
  nonce: string,
  script: string,
  signal?: AbortSignal,
): Promise<Conversation> {
  // Not with the signal: a script must not be killed in the middle of an operation.
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
      // It may still be waiting for input.
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

function brokenOff(end: Exit | Fault, stderr: string): Fault {
  if (end instanceof Fault) return end;
  const how = end.signal === undefined ? `exit code ${end.code}` : `signal ${end.signal}`;
  return new Fault("remote-failed", "the host broke off in the middle of its answer", {
    why: [`its script ended with ${how}`, ...(stderr ? [stderr] : [])],
  });
}

const maxLineLength = 1 << 20;

/** The text after the nonce on each line that has one; noise without a newline may precede it. */
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
    // A broken stream ends; `done` reports why.
  }
  return undefined;
}
