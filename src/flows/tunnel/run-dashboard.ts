import type { Readable } from "node:stream";
import { type Dashboard, dashboardWords } from "../../agents/dashboard/dashboard.js";
import { transientUnit } from "../../agents/plan/transient-unit.js";
import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import type { Connection } from "../../remote/connection.js";
import { commandFor } from "../../remote/stdin-script.js";
import { LineReader } from "../../text/line-reader.js";
import { leashOn } from "../agent/exec/leash.js";
import type { AgentTarget } from "../agent/target.js";
import type { Session } from "../session.js";

export interface DashboardProcess {
  unit: string;
  /** Resolves with the reason when it ends by itself or with the connection. */
  ended: Promise<Fault>;
  /** Resolves when the host reports that it is gone, or is lost. */
  end(): Promise<void>;
}

/** Starts the dashboard as the agent's user, in the sandbox of its service. */
export async function runDashboard(
  session: Session,
  connection: Connection,
  target: AgentTarget,
  { dashboard, port, onLine }: { dashboard: Dashboard; port: number; onLine: (line: string) => void },
): Promise<DashboardProcess> {
  const { resolved } = target;
  const leash = await leashOn(session, connection, [target]);
  try {
    const unit = leash.unit();
    const words = dashboardWords(resolved, dashboard, port);
    const run = transientUnit({ resolved, unit, sign: leash.sign, env: leash.hasEnv(target), streams: "pipe", words });
    const process = await connection.as("root").spawn(commandFor(`${run}\n`));
    process.stdin.end(`${run}\n`);
    const last = lastLines([process.stdout, process.stderr], onLine);
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

function lastLines(streams: Readable[], onLine: (line: string) => void): () => string[] {
  const kept: string[] = [];
  for (const input of streams) {
    const reader = new LineReader(
      (line) => {
        if (line.trim() === "") return;
        onLine(line);
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

const notServing = ({ agent, resolved }: AgentTarget, said: string[], code: number | null): Fault =>
  new Fault("remote-failed", `the dashboard of ${resolved.name} on ${agent.host.name} ended`, {
    why: said.length > 0 ? said : `it ended with ${code ?? "a signal"}`,
    next: sh`clm agent doctor ${resolved.ref}`,
  });
