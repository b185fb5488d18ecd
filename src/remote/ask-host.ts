import { Fault, isFault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";
import type { Shell } from "./process.js";
import { defaultMaxBytes, run, tooLarge } from "./run.js";
import { commandFor } from "./stdin-script.js";

export interface HostQuery {
  host: string;
  /** The end of "HOST could not report …": `the status of its agents`. */
  what: string;
  /** For the script's stdin; the only way for a secret. */
  stdin?: string;
  /** Milliseconds. */
  timeout: number;
  signal: AbortSignal;
  onData?: () => void;
}

/** The output of a probe script, perhaps incomplete, and the fault to throw if something is missing in it. */
export interface HostAnswer {
  text: string;
  fault: Fault;
}

/** Runs a probe script and parses its output; throws when the output is incomplete. */
export async function askHost<T>(
  root: Shell,
  script: string,
  asking: HostQuery,
  read: (text: string) => T | undefined,
): Promise<T> {
  const { text, fault } = await askHostPartially(root, script, asking);
  const answer = read(text);
  if (answer === undefined) throw fault;
  return answer;
}

/** The same for a caller that can use a part of the output: after a timeout it gets what arrived until then. */
export async function askHostPartially(root: Shell, script: string, asking: HostQuery): Promise<HostAnswer> {
  const { stdin = "", timeout, signal, onData: heard } = asking;
  const chunks: Buffer[] = [];
  const text = () => Buffer.concat(chunks).toString("utf8");
  const tooMuch = new AbortController();
  let size = 0;
  const onStdout = (chunk: Buffer) => {
    heard?.();
    size += chunk.length;
    if (size <= defaultMaxBytes) chunks.push(chunk);
    else tooMuch.abort(flooded(asking));
  };
  try {
    const { stderr, code } = await run(root, commandFor(script), {
      // A shared shell runs more commands: its stdin stays open.
      keepStdin: true,
      stdin: script + stdin,
      timeout,
      onStdout,
      signal: AbortSignal.any([signal, tooMuch.signal]),
    });
    return { text: text(), fault: brokeOff(asking, stderr, code) };
  } catch (error) {
    if (!isFault(error, "remote-timeout")) throw error;
    return { text: text(), fault: error };
  }
}

function flooded({ host, what }: HostQuery): Fault {
  const { message } = tooLarge(defaultMaxBytes, "");
  return new Fault("remote-failed", `${host} could not report ${what}`, {
    why: message,
    next: `clm host check ${host}`,
  });
}

const brokeOff = ({ host, what }: HostQuery, stderr: string, code: number | null): Fault =>
  new Fault("remote-failed", `${host} could not report ${what}`, {
    why: lastLines(stderr, 3, `its script ended with ${code}`).join(" "),
    next: `clm host check ${host}`,
  });
