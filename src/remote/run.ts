import type { Readable } from "node:stream";
import { Fault } from "../errors.js";
import type { Exit, Shell } from "./process.js";

export interface Output extends Exit {
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  stdin?: string | Buffer;
  /** Stdin stays open until the end: a command may take its closing for a sign that nobody is there any more. */
  keepStdin?: boolean;
  /** Milliseconds; then the command is told to stop and a fault is thrown. */
  timeout?: number;
  signal?: AbortSignal;
  onStdout?: (chunk: Buffer) => void;
  onStderr?: (chunk: Buffer) => void;
}

/** Runs one command to its end and returns what it said. A command that exits non-zero is an answer, not a fault. */
export async function run(shell: Shell, command: string, options: RunOptions = {}): Promise<Output> {
  const { stdin, keepStdin, timeout, signal, onStdout, onStderr } = options;
  const deadline = new AbortController();
  const tooLate = () =>
    new Fault("remote-timeout", `no end after ${(timeout ?? 0) / 1000} s`, { why: command.slice(0, 200) });
  const timer = timeout ? setTimeout(() => deadline.abort(tooLate()), timeout) : undefined;
  const stop = AbortSignal.any(signal ? [signal, deadline.signal] : [deadline.signal]);
  try {
    const process = await shell.spawn(command, { signal: stop });
    if (!keepStdin) process.stdin.end(stdin);
    else if (stdin !== undefined) process.stdin.write(stdin);
    const [stdout, stderr, exit] = await Promise.all([
      collect(process.stdout, onStdout),
      collect(process.stderr, onStderr),
      process.done,
    ]);
    stop.throwIfAborted();
    return { ...exit, stdout, stderr };
  } finally {
    clearTimeout(timer);
  }
}

async function collect(stream: Readable, tell?: (chunk: Buffer) => void): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => {
    if (tell) tell(chunk);
    else chunks.push(chunk);
  });
  await new Promise<void>((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
  return Buffer.concat(chunks).toString("utf8");
}
