import { closeSync, createWriteStream, fsyncSync, openSync, renameSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { memoryFiles } from "../../../agents/memory.js";
import { loadType } from "../../../agents/registry.js";
import { placesFor } from "../../../agents/subject.js";
import { asFault, Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Process, Shell } from "../../../remote/process.js";
import type { Agent } from "../../../state/agents.js";
import { removeIfThere, sweepTemps, syncDirectory, tempName } from "../../../state/atomic-file.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import type { Session } from "../../session.js";
import script from "./backup.py?raw";
import { tarMembers } from "./tar.js";

export interface Backup {
  path: string;
  /** What is in it. */
  members: string[];
}

/** Beside what is memory: what was arranged, and what was said. Not `.env`: its secrets are in secrets.json. */
const alsoKept = ["cron/jobs.json", "state.db"];

/** Copies what an agent remembers to this machine, and reads it back. Nothing when there is nothing to keep. */
export async function backUp(session: Session, root: Shell, agent: Agent): Promise<Backup | undefined> {
  const { user, home, type } = agent.record;
  const { manifest } = await loadType(session.configDir, type);
  const places = placesFor(manifest, user, home);
  const files = memoryFiles({ manifest, places }).map(({ path }) => path);
  const wanted = [
    places.memories,
    ...files.filter((path) => !path.startsWith(`${places.memories}/`)),
    places.config,
    ...alsoKept.map((name) => `${places.data}/${name}`),
  ];
  const id = sh`"$(id -u ${user})" --regid "$(id -g ${user})"`;
  const environment = sh`env -i HOME=${home} LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin`;
  const command = `cd ${sh`${home}`} && exec setpriv --reuid ${id} --init-groups -- ${environment} ${sh`python3 -I - ${[places.data, ...wanted]}`}`;

  const directory = openSubdirectory(session.configDir, "backups/agents");
  const time = stamp(session.now().toISOString());
  const name = `${stem(agent)}${time}.tar.gz`;
  const path = join(directory, name);
  const temp = join(directory, tempName(name));
  try {
    sweepTemps(directory, name);
    await receive(await root.spawn(command, { signal: session.signal }), temp);
    const members = await tarMembers(temp);
    if (members.length === 0) {
      removeIfThere(temp);
      return undefined;
    }
    sync(temp);
    renameSync(temp, path);
    syncDirectory(directory);
    return { path, members };
  } catch (error) {
    removeIfThere(temp);
    session.signal.throwIfAborted();
    const { fault, message, why } = asFault(error);
    throw new Fault(fault === "bug" ? "remote-failed" : fault, `no backup of ${agent.name} could be made`, {
      why: [message, ...why, "nothing was removed"],
      next: [sh`clm ${session.argv}`, `${sh`clm ${session.argv}`} --no-backup   # and lose what it remembers`],
      cause: error,
    });
  }
}

/** The newest backup of this agent, made since it was installed: one of that name may have been there before it. */
export async function newestBackup(configDir: string, agent: Agent): Promise<Backup | undefined> {
  const directory = join(configDir, "backups", "agents");
  const since = agent.record.installed_at ? stamp(agent.record.installed_at) : "";
  const files = await readdir(directory).catch(() => []);
  const times = files.flatMap((file) => {
    const time = file.startsWith(stem(agent)) ? file.slice(stem(agent).length, -".tar.gz".length) : "";
    return /^\d{8}T\d{6}Z$/.test(time) && time >= since ? [time] : [];
  });
  const newest = times.sort().at(-1);
  if (newest === undefined) return undefined;
  const path = join(directory, `${stem(agent)}${newest}.tar.gz`);
  // One that was spoiled since is none.
  return tarMembers(path).then(
    (members) => ({ path, members }),
    () => undefined,
  );
}

const stem = ({ host, name }: Agent): string => `${host.name}-${name}-`;

/** `20260131T120000Z`: sorts as time does, and can stand in the name of a file anywhere. */
const stamp = (time: string): string => time.replace(/[-:]|\.\d+/g, "");

async function receive(process: Process, path: string): Promise<void> {
  let complaint = "";
  process.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  process.stdin.end(script);
  await pipeline(process.stdout, createWriteStream(path, { flags: "wx", mode: 0o600 }));
  const { code } = await process.done;
  if (code === 0) return;
  throw new Fault("remote-failed", `python3 on the host ended with ${code}`, {
    why: complaint.trim().split("\n").slice(-2),
  });
}

function sync(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
