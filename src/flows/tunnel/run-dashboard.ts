import type { Readable } from "node:stream";
import { type Dashboard, dashboardWords } from "../../agents/dashboard/dashboard.js";
import { transientUnit } from "../../agents/plan/transient-unit.js";
import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import type { Connection } from "../../remote/connection.js";
import { commandFor } from "../../remote/operations/conversation.js";
import { LineReader } from "../../text/line-reader.js";
import { leashOn } from "../agent/exec/leash.js";
import type { Target } from "../agent/target.js";
import type { Session } from "../session.js";

/** A dashboard that runs on a host, for as long as we hold it. */
export interface DashboardProcess {
  unit: string;
  /** Resolves with why, when it ended by itself or with the connection. */
  ended: Promise<Fault>;
  /** Ends it; resolves when the host has said that it has gone, or cannot say it any more. */
  end(): Promise<void>;
}

export interface Place {
  port: number;
}

/** Starts the dashboard as the agent's user, closed in as its service is. */
export async function runDashboard(
  session: Session,
  connection: Connection,
  target: Target,
  { dashboard, place, hear }: { dashboard: Dashboard; place: Place; hear: (line: string) => void },
): Promise<DashboardProcess> {
  const { resolved } = target;
  const leash = await leashOn(session, connection, [target]);
  try {
    const unit = leash.unit();
    const words = dashboardWords(resolved, dashboard, place.port);
    const env = leash.hasEnv(target);
    const run = transientUnit({ resolved, unit, sign: leash.sign, env, streams: "pipe", words });
    const process = await connection.as("root").spawn(commandFor(`${run}\n`));
    process.stdin.end(`${run}\n`);
    const last = lastLines([process.stdout, process.stderr], hear);
    const gone = process.done.then(
      ({ code }) => notServing(target, last(), code),
      (fault: Fault) => fault,
    );
    return { unit, ended: gone, end: () => leash.end("stop") };
  } catch (error) {
    await leash.end("stop");
    throw error;
  }
}

// Bytes.
const longestLine = 16_384;

/** Reads what it says, all the time, and keeps the end of it. */
function lastLines(streams: Readable[], hear: (line: string) => void): () => string[] {
  const kept: string[] = [];
  for (const input of streams) {
    const reader = new LineReader(
      (line) => {
        if (line.trim() === "") return;
        hear(line);
        kept.push(line.trim());
        if (kept.length > 3) kept.shift();
      },
      { maxBytes: longestLine },
    );
    input.on("error", () => {});
    input.on("data", (chunk: Buffer) => reader.push(chunk)).on("end", () => reader.end());
  }
  return () => kept;
}

const notServing = ({ agent, resolved }: Target, said: string[], code: number | null): Fault =>
  new Fault("remote-failed", `the dashboard of ${resolved.name} on ${agent.host.name} ended`, {
    why: said.length > 0 ? said : `it ended with ${code ?? "a signal"}`,
    next: sh`clm agent doctor ${resolved.ref}`,
  });
