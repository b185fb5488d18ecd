import { type FrameHandlers, frameReader } from "../../agents/logs/frame-reader.js";
import { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { beating } from "../../remote/leash.js";
import { withSilenceTimeout } from "../../remote/silence-timeout.js";
import { scriptShell } from "../../remote/stdin-script.js";
import { lastLines, tailOf } from "../../text/last-lines.js";

export interface ListenOptions extends FrameHandlers {
  /** Awaited before more is read. */
  drained: () => Promise<void> | undefined;
  /** Milliseconds the host may be silent; unlimited for logs that are followed. */
  silence?: number | undefined;
}

/** Runs logs.sh on a host until it ends or is aborted. Nothing of it is left on the host. */
export async function listen(
  connection: Connection,
  script: string,
  { silence, drained, ...handlers }: ListenOptions,
  signal: AbortSignal,
): Promise<void> {
  // A session of its own can be ended as one: root's processes are out of reach for our signals.
  const process = await connection.as("root").spawn(`exec setsid -w ${scriptShell(script)}`, { signal });
  const { name: host } = connection.target;
  let ended = false;
  const read = frameReader({
    ...handlers,
    remark(words, agent) {
      if (agent === undefined && words[0] === "end") ended = true;
      else handlers.remark(words, agent);
    },
  });
  const complaint = tailOf(process.stderr);
  process.stdin.write(script);
  const stopBeating = beating((byte) => process.stdin.write(byte));
  const stdout = silence === undefined ? process.stdout : withSilenceTimeout(process.stdout, { host, silence });
  // After an abort the rest is read and dropped.
  const take = async (chunk: Buffer) => {
    if (signal.aborted) return;
    read(chunk);
    await drained();
  };
  try {
    const [{ code }] = await Promise.all([process.done, eachOf(stdout, take)]);
    if (ended || signal.aborted) return;
    throw new Fault("remote-failed", `${host} broke off in the middle of its logs`, {
      why: lastLines(complaint(), 3, `its script ended with ${code}`).join(" "),
      next: `clm host check ${host}`,
    });
  } finally {
    stopBeating();
    // Also when the script does not end by itself.
    process.stdin.end();
  }
}

/** A stream that breaks is treated as one that ends: `done` knows why. */
async function eachOf(stream: AsyncIterable<Buffer>, take: (chunk: Buffer) => Promise<void>): Promise<void> {
  try {
    for await (const chunk of stream) await take(chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}
