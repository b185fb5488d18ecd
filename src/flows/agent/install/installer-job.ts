import { stripVTControlCharacters } from "node:util";
import { installerJob, installerOperation } from "../../../agents/plan/operations.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault, isFault } from "../../../errors.js";
import { followJob, type JobEnd, jobGone, unitOf } from "../../../remote/operations/jobs.js";
import { absent, dir, file, type Operation } from "../../../remote/operations/operation.js";
import type { Shell } from "../../../remote/process.js";
import { LineReader } from "../../../text/line-reader.js";
import type { Progress } from "../../../ui/ui.js";
import type { Session } from "../../session.js";

export const jobUnit = (agent: string): string => unitOf(installerJob(agent));

// Not in /run/clm, which is closed to all but root: the agent's user must read it.
const installers = "/run/clm-installers";

const installerFolder = (agent: string): string => `${installers}/${agent}`;

/** Removes an installer and its job. */
export const installerGone = (agent: string): Operation[] => [
  ...jobGone(installerJob(agent)),
  absent({ path: installerFolder(agent) }),
];

export interface InstallerRun {
  resolved: ResolvedAgent;
  bytes: Buffer;
  sha256: string;
  /** The state of the job in the preflight: `inactive` when there is none. */
  job: string;
}

/** The bytes that were verified, writable by root alone, and the job that runs them. */
export function installerOperations({ resolved, bytes, sha256, job }: InstallerRun): Operation[] {
  const folder = installerFolder(resolved.name);
  const path = `${folder}/${sha256}.sh`;
  const open = { owner: "root", mode: 0o755 };
  // Half a checkout of an aborted run makes the next one fail; while a job is there, it is in use.
  const leftover = ["inactive", "failed", ""].includes(job) ? [absent({ path: resolved.paths.code })] : [];
  return [
    dir(installers, open),
    dir(folder, open),
    file(path, { owner: "root", mode: 0o644, content: bytes }),
    ...leftover,
    installerOperation(resolved, path),
  ];
}

/** Follows the job to its end and returns its warnings. Ctrl-C ends the following, not the job. */
export async function followInstaller(
  session: Session,
  root: Shell,
  resolved: ResolvedAgent,
  progress: Progress,
): Promise<string[]> {
  const patterns = resolved.manifest.install.warnings.map((pattern) => new RegExp(pattern, "u"));
  const warnings = new Set<string>();
  const { reader, last } = readableLines((line) => {
    progress.output(line);
    if (patterns.some((pattern) => pattern.test(line))) warnings.add(line.trim());
  });
  const name = installerJob(resolved.name);
  const { signal } = session;
  const end = await followJob(root, name, { onOutput: (bytes) => reader.push(bytes), signal }).catch(
    stillRunning(`the installer continues on ${resolved.host}`),
  );
  reader.end();
  if (end.result === "success") return [...warnings];
  throw failed(resolved, end, last);
}

/** Adds to an interruption or a lost connection that the host continues to work. */
export const stillRunning =
  (what: string) =>
  (error: unknown): never => {
    if (!isFault(error, "interrupted", "connection-lost")) throw error;
    throw error.with({ why: [...error.why, what], next: [] });
  };

function failed({ host, manifest }: ResolvedAgent, end: JobEnd, last: string[]): Fault {
  const how = {
    success: "succeeded",
    failed: `ended with exit code ${end.code}`,
    timeout: `took longer than ${manifest.install.timeout / 60_000} minutes`,
    killed: "was killed",
    gone: "is gone, as after a reboot of the host",
  }[end.result];
  return new Fault(end.result === "timeout" ? "remote-timeout" : "remote-failed", `the installer on ${host} ${how}`, {
    why: last,
    data: { ...end },
  });
}

const keptLines = 12;

/** Lines without escape sequences; the last of them are kept for the fault. */
function readableLines(onLine: (line: string) => void) {
  const last: string[] = [];
  const reader = new LineReader(
    (raw) => {
      const line = stripVTControlCharacters(raw).trimEnd();
      if (line === "") return;
      last.push(line);
      if (last.length > keptLines) last.shift();
      onLine(line);
    },
    { maxBytes: 65_536, carriageReturns: true },
  );
  return { reader, last };
}
