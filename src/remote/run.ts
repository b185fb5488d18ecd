import type { Readable } from "node:stream";
import { Fault } from "../errors.js";
import type { Exit, Shell } from "./process.js";

export interface Output extends Exit {
  stdout: string;
  stderr: string;
}

/** Receives output as it arrives. Reading from the host pauses until a returned promise resolves. */
export type OnOutput = (chunk: Buffer) => Promise<void> | void;

export interface RunOptions {
  stdin?: string | Buffer;
  /** Keeps stdin open until the end: some commands stop when it closes. */
  keepStdin?: boolean;
  /** Milliseconds; then the command is stopped and a fault is thrown. */
  timeout?: number;
  signal?: AbortSignal | undefined;
  onStdout?: OnOutput;
  onStderr?: OnOutput;
  /** Limit for each stream; beyond it the command is stopped and a fault is thrown. */
  maxBytes?: number;
}

/** More than any answer clm asks for, and small enough to hold in memory. */
export const defaultMaxBytes = 32 << 20;

// Milliseconds to wait for a stopped command to end.
const grace = 1000;

/** Runs one command to its end and returns its output. A non-zero exit code is a result, not a fault. */
export async function run(shell: Shell, command: string, options: RunOptions = {}): Promise<Output> {
  const { stdin, keepStdin, timeout, signal, onStdout, onStderr, maxBytes = defaultMaxBytes } = options;
  const end = new AbortController();
  const late = () =>
    new Fault("remote-timeout", `no end after ${(timeout ?? 0) / 1000} s`, { why: command.slice(0, 200) });
  const timer = timeout ? setTimeout(() => end.abort(late()), timeout) : undefined;
  const stop = AbortSignal.any(signal ? [signal, end.signal] : [end.signal]);
  let graceTimer: NodeJS.Timeout | undefined;
  const leave = new Promise<never>((_, reject) => {
    stop.addEventListener("abort", () => {
      graceTimer = setTimeout(() => reject(stop.reason), grace);
    });
  });
  leave.catch(() => {});
  try {
    const process = await shell.spawn(command, { signal: stop });
    if (!keepStdin) process.stdin.end(stdin);
    else if (stdin !== undefined) process.stdin.write(stdin);
    const tooMuch = () => end.abort(tooLarge(maxBytes, command));
    const [stdout, stderr, exit] = await Promise.race([
      Promise.all([
        collect(process.stdout, { tell: onStdout, maxBytes, tooMuch }),
        collect(process.stderr, { tell: onStderr, maxBytes, tooMuch }),
        process.done,
      ]),
      leave,
    ]);
    stop.throwIfAborted();
    return { ...exit, stdout, stderr };
  } catch (error) {
    // A channel that was closed on request looks like a lost connection.
    stop.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(graceTimer);
  }
}

export const tooLarge = (maxBytes: number, what: string): Fault =>
  new Fault("remote-failed", `the host sent more than ${Math.round(maxBytes / (1 << 20))} MB, and was cut off`, {
    why: what.slice(0, 200),
  });

interface CollectOptions {
  tell: OnOutput | undefined;
  maxBytes: number;
  tooMuch: () => void;
}

async function collect(stream: Readable, { tell, maxBytes, tooMuch }: CollectOptions): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    if (tell) {
      const taken = tell(chunk);
      if (!taken) return;
      stream.pause();
      void taken.finally(() => stream.resume());
      return;
    }
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else {
      chunks.length = 0;
      tooMuch();
    }
  });
  await new Promise<void>((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
  return Buffer.concat(chunks).toString("utf8");
}
