import { stripVTControlCharacters } from "node:util";
import { installerJob, installerOperation } from "../../../agents/plan/operations.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault, isFault } from "../../../errors.js";
import { followJob, type JobEnd, jobGone } from "../../../remote/operations/jobs.js";
import { absent, dir, file, type Operation } from "../../../remote/operations/operation.js";
import type { Shell } from "../../../remote/process.js";
import type { AgentRecord } from "../../../state/agent.js";
import { recordAgent } from "../../../state/agents.js";
import { LineReader } from "../../../text/line-reader.js";
import type { Progress } from "../../../ui/ui.js";
import type { Phases } from "../../flow.js";
import type { Installer } from "../../registry/installer.js";
import type { Session } from "../../session.js";
import type { ReadyHost } from "../preflight/preflight.js";
import { type InstallPlan, resolvedFrom } from "./install-plan.js";
import { mustBePinnedRelease } from "./installed-release.js";

// Not in /run/clm, which is closed to all but root: the agent's user must read it.
const installers = "/run/clm-installers";
const installerFolder = (agent: string): string => `${installers}/${agent}`;

export const installerGone = (agent: string): Operation[] => [
  ...jobGone(installerJob(agent)),
  absent({ path: installerFolder(agent) }),
];

interface InstallerRun {
  plan: InstallPlan;
  ready: ReadyHost;
  record: AgentRecord;
  installer: Installer;
}

/** Runs the installer as a job that survives the connection, and checks the result. Returns its warnings. */
export async function runInstaller(
  { change, record: save }: Phases,
  session: Session,
  { plan, ready, record, installer }: InstallerRun,
): Promise<string[]> {
  const { root, observation } = ready;
  const resolved = resolvedFrom(plan, record);
  const { name, host } = resolved;
  const warnings = await change(`run the installer of ${record.type} ${record.version}`, async (executor, progress) => {
    const mayRun = stillRunning(`the installer may have started on ${host}, and continues there`);
    await executor.converge(root, installerOperations(resolved, installer, observation.job)).catch(mayRun);
    return followInstaller(session, root, resolved, progress);
  });
  if (!warnings) return [];
  await change("check what was installed", (executor) =>
    mustBePinnedRelease(session, plan, root, record).catch(async (error) => {
      // While the job exists it counts as done: without it, the same command runs the installer again.
      await executor.converge(root, installerGone(name));
      throw error;
    }),
  );
  // Only after the check: the next install neither runs nor checks an installer that is recorded here.
  const ran = { sha256: installer.sha256, size: installer.bytes.length };
  await save("the installer ran", () =>
    recordAgent(session.hosts, { host, name }, (now) => now && { ...now, installer: ran }),
  );
  return warnings;
}

/** The verified bytes, writable by root alone, and their job; `state` is that of the previous job. */
function installerOperations(resolved: ResolvedAgent, { bytes, sha256 }: Installer, state: string): Operation[] {
  const folder = installerFolder(resolved.name);
  const path = `${folder}/${sha256}.sh`;
  const open = { owner: "root", mode: 0o755 };
  // Half a checkout of an aborted run makes the next one fail; while a job is there, it is in use.
  const leftover = ["inactive", "failed", ""].includes(state) ? [absent({ path: resolved.paths.code })] : [];
  return [
    dir(installers, open),
    dir(folder, open),
    file(path, { owner: "root", mode: 0o644, content: bytes }),
    ...leftover,
    installerOperation(resolved, path),
  ];
}

const keptLines = 12;

/** Ctrl-C ends the following, not the job. */
async function followInstaller(
  { signal }: Session,
  root: Shell,
  { name, host, manifest }: ResolvedAgent,
  progress: Progress,
): Promise<string[]> {
  const patterns = (manifest.install?.warnings ?? []).map((pattern) => new RegExp(pattern, "u"));
  const warnings = new Set<string>();
  const last: string[] = [];
  const reader = new LineReader(
    (raw) => {
      const line = stripVTControlCharacters(raw).trimEnd();
      if (line === "") return;
      last.push(line);
      if (last.length > keptLines) last.shift();
      progress.output(line);
      if (patterns.some((pattern) => pattern.test(line))) warnings.add(line.trim());
    },
    { maxBytes: 65_536, carriageReturns: true },
  );
  const end = await followJob(root, installerJob(name), { onOutput: (bytes) => reader.push(bytes), signal }).catch(
    stillRunning(`the installer continues on ${host}`),
  );
  reader.end();
  if (end.result === "success") return [...warnings];
  const fault = end.result === "timeout" ? "remote-timeout" : "remote-failed";
  const limit = (manifest.install?.timeout ?? 0) / 60_000;
  throw new Fault(fault, `the installer on ${host} ${endText(end, limit)}`, { why: last, data: { ...end } });
}

/** Adds to an interruption or a lost connection that the host continues to work. */
const stillRunning =
  (what: string) =>
  (error: unknown): never => {
    if (!isFault(error, "interrupted", "connection-lost")) throw error;
    throw error.with({ why: [...error.why, what], next: [] });
  };

const endText = ({ result, code }: JobEnd, minutes: number): string =>
  ({
    success: "succeeded",
    failed: `ended with exit code ${code}`,
    timeout: `took longer than ${minutes} minutes`,
    killed: "was killed",
    gone: "is gone, as after a reboot of the host",
  })[result];
