import { hearing } from "../../agents/logs/wire.js";
import { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { beating } from "../../remote/leash.js";
import { commandFor } from "../../remote/operations/conversation.js";
import { withSilenceTimeout } from "../../remote/silence-timeout.js";
import { lastLines, tailOf } from "../../text/last-lines.js";

export type Hears = Omit<Parameters<typeof hearing>[0], "remark"> & {
  remark: (words: string[], agent: number | undefined) => void;
  /** Waited for before more is heard. */
  room: () => Promise<void> | undefined;
  /** Milliseconds the host may be silent; as long as it likes where its logs are followed. */
  silence?: number | undefined;
};

/** Runs logs.sh on a host and hears it to its end, or until it is told to stop. Nothing is left of it on the host then. */
export async function listen(connection: Connection, script: string, hears: Hears, signal: AbortSignal): Promise<void> {
  // A session of its own is what can be ended as one; root's processes are out of reach for signals of ours.
  const process = await connection.as("root").spawn(`setsid -w ${commandFor(script)}`, { signal });
  let ended = false;
  const remark: Hears["remark"] = (words, agent) => {
    if (agent === undefined && words[0] === "end") ended = true;
    else hears.remark(words, agent);
  };
  const hear = hearing({ ...hears, remark });
  const complaint = tailOf(process.stderr);
  process.stdin.write(script);
  const stopBeating = beating((byte) => process.stdin.write(byte));
  const { silence } = hears;
  const { name: host } = connection.target;
  const stdout = silence === undefined ? process.stdout : withSilenceTimeout(process.stdout, { host, silence });
  // What comes after a stop is read to its end, and nobody hears it.
  const take = async (chunk: Buffer) => {
    if (signal.aborted) return;
    hear(chunk);
    await hears.room();
  };
  try {
    const [{ code }] = await Promise.all([process.done, eachOf(stdout, take)]);
    if (ended || signal.aborted) return;
    throw new Fault("remote-failed", `${connection.target.name} broke off in the middle of its logs`, {
      why: lastLines(complaint(), 3, `its script ended with ${code}`).join(" "),
      next: `clm host check ${connection.target.name}`,
    });
  } finally {
    stopBeating();
    // Also when it is the script that does not end.
    process.stdin.end();
  }
}

/** One chunk after the other, as they are taken. A stream that breaks is one that ends: `done` knows why. */
async function eachOf(stream: AsyncIterable<Buffer>, take: (chunk: Buffer) => Promise<void>): Promise<void> {
  try {
    for await (const chunk of stream) await take(chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}
