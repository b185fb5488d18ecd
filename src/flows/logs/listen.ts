import type { Readable } from "node:stream";
import { hearing } from "../../agents/logs/wire.js";
import { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { commandFor } from "../../remote/operations/conversation.js";

/** Milliseconds between two signs of life. The host ends all it does for us a minute after the last one. */
const pulse = 15_000;

export type Hears = Omit<Parameters<typeof hearing>[0], "remark"> & {
  remark: (words: string[], agent: number | undefined) => void;
};

/** Runs logs.sh on a host and hears it to its end, or until it is told to stop. Nothing is left of it on the host then. */
export async function listen(connection: Connection, script: string, hears: Hears, signal: AbortSignal): Promise<void> {
  // A session of its own is what can be ended as one; root's processes are out of reach for signals of ours.
  const process = await connection.as("root").spawn(`setsid -w ${commandFor(script)}`, { signal });
  let ended = false;
  let complaint = "";
  const remark: Hears["remark"] = (words, agent) => {
    if (agent === undefined && words[0] === "end") ended = true;
    else hears.remark(words, agent);
  };
  const hear = hearing({ ...hears, remark });
  process.stdout.on("data", hear);
  process.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  process.stdin.write(script);
  const heart = setInterval(() => process.stdin.write("."), pulse);
  try {
    const [{ code }] = await Promise.all([process.done, ending(process.stdout)]);
    if (ended || signal.aborted) return;
    throw new Fault("remote-failed", `${connection.target.name} broke off in the middle of its logs`, {
      why: complaint.trim().split("\n").slice(-3).join(" ") || `its script ended with ${code}`,
      next: `clm host check ${connection.target.name}`,
    });
  } finally {
    clearInterval(heart);
    // Also when it is the script that does not end.
    process.stdin.end();
  }
}

const ending = (stream: Readable): Promise<void> =>
  new Promise((resolve) => {
    for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
  });
