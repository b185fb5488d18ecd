import { createWriteStream, renameSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { fill } from "../../../agents/files/template.js";
import type { Manifest } from "../../../agents/manifest/manifest.js";
import { loadType } from "../../../agents/manifest/registry.js";
import { type AgentPaths, namedPaths, pathsFor } from "../../../agents/plan/resolved-agent.js";
import { asFault, Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import { awaitExit } from "../../../remote/await-exit.js";
import type { Process, Shell } from "../../../remote/process.js";
import { withSilenceTimeout } from "../../../remote/silence-timeout.js";
import type { Agent } from "../../../state/agents.js";
import { removeIfThere, sweepTemps, syncDirectory, tempName } from "../../../state/atomic-file.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import { lastLines, tailOf } from "../../../text/last-lines.js";
import type { Session } from "../../session.js";
import { commandInSandbox } from "../run-as-agent.js";
import script from "./backup.py?raw";
import { tarMembers } from "./tar.js";

export interface Backup {
  path: string;
  members: string[];
}

/**
 * No agent may fill the disk of this machine, or keep clm waiting for ever. Bytes of the copied files, and of the archive
 * that arrives; seconds for the whole backup, and for the next byte.
 */
const limits = { bytes: 4e9, seconds: 3600, silence: 120 };
type Limits = typeof limits;

/** Undefined when there is nothing to keep. Files with secrets are left out: the agent has to log in again. */
export async function backUp(session: Session, root: Shell, agent: Agent): Promise<Backup | undefined> {
  const { user, home, type, version, relaxed = false, runtime } = agent.record;
  const { manifest } = await loadType(session.configDir, type);
  const paths = pathsFor(manifest, user, home);
  const words = [JSON.stringify(backupRequest(manifest, paths, limits))];
  // Not a ResolvedAgent: the version of an agent that is removed may not be in the manifest any more.
  const confined = { manifest, paths, user, version, relaxed, name: agent.name, ...(runtime && { runtime }) };
  const program = { script: 'exec python3 -I - "$@"', words, seconds: limits.seconds };
  const command = commandInSandbox(agent, confined, program);

  const directory = openSubdirectory(session.configDir, "backups/agents");
  const name = `${stem(agent)}${stamp(session.now().toISOString())}.tar.gz`;
  const path = join(directory, name);
  const temp = join(directory, tempName(name));
  try {
    sweepTemps(directory, name);
    await receive(await root.spawn(command, { signal: session.signal }), agent.host.name, temp, limits);
    const members = await tarMembers(temp, { signal: session.signal });
    if (members.length === 0) {
      removeIfThere(temp);
      return undefined;
    }
    renameSync(temp, path);
    syncDirectory(directory);
    return { path, members };
  } catch (error) {
    removeIfThere(temp);
    session.signal.throwIfAborted();
    const { fault, message, why } = asFault(error);
    throw new Fault(fault === "bug" ? "remote-failed" : fault, `no backup of ${agent.name} could be made`, {
      why: [message, ...why, "nothing was removed"],
      next: `${sh`clm ${session.argv}`} --no-backup   # and lose its data`,
      cause: error,
    });
  }
}

/** The newest backup of this agent since it was installed: an earlier agent may have had its name. */
export async function newestBackup(configDir: string, agent: Agent): Promise<Backup | undefined> {
  const directory = backupDirectory(configDir);
  const since = agent.record.installed_at ? stamp(agent.record.installed_at) : "";
  const files = await readdir(directory).catch(() => []);
  const times = files.flatMap((file) => (file.startsWith(stem(agent)) ? file.slice(stem(agent).length) : []));
  const own = times.filter((time) => /^\d{8}T\d{6}Z\.tar\.gz$/.test(time) && time >= since);
  const newest = own.sort().at(-1);
  if (newest === undefined) return undefined;
  const path = join(directory, stem(agent) + newest);
  // A damaged file is no backup.
  return tarMembers(path).then(
    (members) => ({ path, members }),
    () => undefined,
  );
}

export const backupDirectory = (configDir: string): string => join(configDir, "backups", "agents");
// Neither name contains a comma, so two agents never share it.
const stem = ({ host, name }: Agent): string => `${host.name},${name}-`;

/** `20260131T120000Z`: sorts by time, and is valid in a file name everywhere. */
const stamp = (time: string): string => time.replace(/[-:]|\.\d+/g, "");

export function backupRequest({ backup }: Manifest, paths: AgentPaths, { bytes }: Pick<Limits, "bytes">): object {
  const { home, data } = paths;
  return {
    max_bytes: bytes,
    bundled_skills: fill(backup.bundled, namedPaths(paths)) ?? "",
    roots: [
      { path: data, prefix: "", exclude: backup.without },
      { path: home, prefix: "home/", exclude: [...backup.home_without, `/${relative(home, data)}`] },
    ],
  };
}

export async function receive(process: Process, host: string, path: string, limits: Limits): Promise<void> {
  const { bytes: maxBytes, seconds, silence } = limits;
  const complaint = tailOf(process.stderr);
  process.stdin.end(script);
  try {
    const file = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
    const bounds = { host, maxBytes, silence: silence * 1000, total: seconds * 1000 };
    await pipeline(withSilenceTimeout(process.stdout, bounds), file);
  } catch (error) {
    process.leave();
    throw error;
  }
  const { code } = await awaitExit(process, host);
  if (code === 0) return;
  throw new Fault("remote-failed", `python3 on the host ended with ${code}`, { why: lastLines(complaint(), 2) });
}
