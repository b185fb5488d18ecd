import { PassThrough, type Readable, Writable } from "node:stream";
import { waitFor } from "../async/wait.js";
import { writeWithBackpressure } from "./backpressure.js";
import type { Connection } from "./connection.js";
import type { Exit, Process, Shell } from "./process.js";
import { newNonce } from "./stdin-script.js";

/**
 * A shell that runs commands one after the other in one process: each costs a round trip, not a channel, sudo or shell.
 * A command that starts while another runs gets its own process; one process is kept. The commands share one stdin, so
 * each must read exactly its own input. Closing stdin ends the process, and the next command starts another one.
 */
export async function sharedShell(shell: Shell): Promise<Shell> {
  let idle: Worker | undefined = await open(shell);
  return {
    as: (user) => shell.as(user),
    async spawn(command, { signal } = {}) {
      signal?.throwIfAborted();
      const line = idle?.isOpen() ? idle : await waitFor(open(shell), { signal, drop: (late) => late.end() });
      idle = undefined;
      const process = line.run(command, () => {
        if (idle?.isOpen()) line.end();
        else idle = line;
      });
      const stop = () => process.kill("TERM");
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted) stop();
      process.done.catch(() => {}).then(() => signal?.removeEventListener("abort", stop));
      return process;
    },
  };
}

const rootShells = new WeakMap<Connection, Promise<Shell>>();

export function rootShellOf(connection: Connection): Promise<Shell> {
  const known = rootShells.get(connection);
  if (known) return known;
  const made = sharedShell(connection.as("root"));
  rootShells.set(connection, made);
  made.catch(() => rootShells.delete(connection));
  return made;
}

interface Worker {
  isOpen(): boolean;
  end(): void;
  /** `free` is called when the next command may start. */
  run(command: string, free: () => void): Process;
}

async function open(shell: Shell): Promise<Worker> {
  const nonce = newNonce();
  const process = await shell.spawn(reader);
  process.stdin.write(`${nonce}\n`);
  let open = true;
  const shut = () => {
    open = false;
  };
  process.done.then(shut, shut);
  const broken = () => {
    shut();
    process.kill("TERM");
  };
  const [stdout, stderr] = [partsOf(process.stdout, nonce, broken), partsOf(process.stderr, nonce, broken)];
  return {
    isOpen: () => open,
    end() {
      shut();
      process.stdin.end();
    },
    run(command, free) {
      const [out, err] = [stdout(), stderr()];
      process.stdin.write(command.includes("\n") ? `${Buffer.byteLength(command)}\n${command}` : `:${command}\n`);
      const stdin = new Writable({
        write: (chunk, encoding, written) => void process.stdin.write(chunk, encoding, () => written()),
        final(written) {
          shut();
          process.stdin.end();
          written();
        },
      });
      const done = Promise.all([out.last, err.last]).then(async ([code]): Promise<Exit> => {
        if (code === undefined) return process.done;
        if (open) free();
        return { code };
      });
      done.catch(() => {});
      return { ...process, stdin, stdout: out.text, stderr: err.text, done };
    },
  };
}

/**
 * Reads a command and not one byte more: after a colon on the same line or, for several lines, after its size.
 * Marks its end on both streams with a word that no command's output can hold. A line cut short is no line to `read`.
 */
const reader =
  "exec /bin/sh -c 'IFS= read -r nonce || exit; while IFS= read -r line; do " +
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's.
  'case $line in :*) (eval "${line#:}") ;; *) (eval "$(dd bs="$line" count=1 iflag=fullblock status=none)") ;; esac; ' +
  'code=$?; echo "$nonce" >&2; echo "$nonce $code"; done\'';

interface Part {
  text: Readable;
  /** The exit code; undefined when the stream ended before the command did. */
  last: Promise<number | undefined>;
}

// Bytes between the nonce and the end of its line: an exit code.
const maxTrailerBytes = 1024;

/** Parts of a stream that end with a nonce line, each requested before its command. `broken`: that line has no end. */
function partsOf(stream: Readable, nonce: string, broken: () => void): () => Part {
  let rest: Buffer = Buffer.alloc(0);
  let text = new PassThrough();
  let end: (code: number | undefined) => void = () => {};
  let ended = false;
  const over = (code: number | undefined) => {
    text.end();
    end(code);
  };
  stream.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    const at = rest.indexOf(nonce);
    const line = at < 0 ? -1 : rest.indexOf("\n", at);
    const sure = at < 0 ? rest.length - beginningOf(nonce, rest) : at;
    if (sure > 0 && !text.writableEnded) writeWithBackpressure(stream, text, rest.subarray(0, sure));
    const code = line < 0 ? undefined : Number(rest.toString("utf8", at + nonce.length, line));
    rest = rest.subarray(line < 0 ? sure : line + 1);
    if (code !== undefined) over(code);
    else if (rest.length > maxTrailerBytes + nonce.length) {
      rest = Buffer.alloc(0);
      broken();
    }
  });
  for (const ending of ["end", "close", "error"]) {
    stream.once(ending, () => {
      ended = true;
      over(undefined);
    });
  }
  return () => {
    text = new PassThrough();
    const last = new Promise<number | undefined>((resolve) => {
      end = resolve;
    });
    if (ended) over(undefined);
    return { text, last };
  };
}

/** How many of the last bytes may be the beginning of the nonce. */
function beginningOf(nonce: string, bytes: Buffer): number {
  for (let length = Math.min(nonce.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(Buffer.from(nonce.slice(0, length)))) return length;
  }
  return 0;
}
