import { accessSync, constants, readdirSync, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Check, checksFrom, fail, ok, skipped, type Verdict, warn } from "../../agents/check.js";
import type { machineChecks } from "../../agents/doctor/machine-checks.js";
import { asFault } from "../../errors.js";
import { quote } from "../../quote.js";
import { agentId, agentsOf, hostAndName } from "../../state/agents.js";
import { abandonedLocks } from "../../state/lock.js";
import { missingProviders } from "../agent/missing-providers.js";
import type { Session } from "../session.js";
import { failedBy } from "./finding.js";

export function checkMachine(session: Session): Check[] {
  const verdicts: Record<keyof typeof machineChecks, Verdict> = {
    "config.dir": checkDirectory(session),
    "config.files": checkFiles(session),
    "config.state": checkState(session),
    "config.secrets": unlessBroken(session, checkOrphans),
    "config.providers": unlessBroken(session, checkProviders),
    "config.locks": checkLocks(session),
    node: checkNode(process.versions.node),
    ssh: checkPrograms(session),
    clock: checkClock(session),
  };
  return checksFrom(verdicts);
}

function checkDirectory({ configDir }: Session): Verdict {
  const found = statOf(configDir);
  if (!found) return warn(`there is no ${configDir} yet`, "clm init");
  if (found.mode & 0o077)
    return fail(`${configDir} is open to others (${modeOf(found)})`, `chmod 700 ${quote(configDir)}`);
  return ok(`${configDir} is private to its owner`);
}

/** Files that others may read, although they should be private. */
export function openFiles(configDir: string): { path: string; mode: string; secret: boolean }[] {
  const files = [
    ...namesIn(configDir).map((name) => ({ path: join(configDir, name), secret: name === "secrets.json" })),
    ...namesIn(join(configDir, "keys")).map((name) => ({ path: join(configDir, "keys", name), secret: true })),
  ];
  return files.flatMap((file) => {
    const found = statOf(file.path);
    if (!found?.isFile() || file.path.endsWith(".pub") || !(found.mode & 0o077)) return [];
    return [{ ...file, mode: modeOf(found) }];
  });
}

function checkFiles({ configDir }: Session): Verdict {
  const open = openFiles(configDir);
  if (open.length === 0) return ok("all are private to their owner");
  const reason = open.map(({ path, mode }) => `${path} is open to others (${mode})`).join("; ");
  const fix = `chmod 600 ${open.map(({ path }) => quote(path)).join(" ")}`;
  return open.some(({ secret }) => secret) ? fail(reason, fix) : warn(reason, fix);
}

function checkState(session: Session): Verdict {
  try {
    const fleet = session.hosts.read();
    session.providers.read();
    session.secrets.all();
    return ok(`hosts: ${fleet.hosts.length}, agents: ${agentsOf(fleet).length}`);
  } catch (error) {
    return failedBy(asFault(error));
  }
}

const unlessBroken = (session: Session, check: (session: Session) => Verdict): Verdict =>
  attempt(() => check(session)) ?? skipped("needs config.state");

function checkOrphans({ hosts, providers, secrets }: Session): Verdict {
  const agents = new Set(agentsOf(hosts.read()).map(agentId));
  const known = providers.read().providers;
  const orphans = secrets.instances().flatMap((owner) => {
    // Leftovers of gateway keys are removed by the next command that changes keys.
    if ("gateway" in owner) return [];
    if ("provider" in owner) return Object.hasOwn(known, owner.provider) ? [] : `provider ${owner.provider}`;
    return agents.has(`${owner.host}:${owner.type}:${owner.agent}`) ? [] : `${owner.host}/${owner.agent}`;
  });
  if (orphans.length === 0) return ok("every secret belongs to an existing agent or provider");
  return warn(
    `secrets of removed agents or providers remain: ${orphans.join(", ")}`,
    `they are in ${quote(secrets.path)}`,
  );
}

function checkProviders({ hosts, providers }: Session): Verdict {
  const known = providers.read();
  const without = agentsOf(hosts.read()).flatMap((agent) =>
    missingProviders(agent.record, known).map(({ provider }) => ({ agent, provider })),
  );
  const [first] = without;
  if (!first) return ok("every provider that an agent uses exists");
  const reason = without.map(({ agent, provider }) => `${hostAndName(agent)} uses ${provider}`).join(", ");
  return fail(`missing providers: ${reason}`, `clm agent doctor ${first.agent.ref}`);
}

function checkLocks({ configDir }: Session): Verdict {
  const left = abandonedLocks(configDir);
  if (left.length === 0) return ok("no abandoned locks");
  const whose = left.map(({ name, owner }) => `'${name}' by ${owner.command} (pid ${owner.pid}, ${owner.since})`);
  return warn(`a killed clm left ${whose.join(", ")}`, "run the same command again: it takes over the lock");
}

/** As package.json has it. */
const oldest = [20, 19] as const;

export function checkNode(version: string): Verdict {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
  return isOld ? fail(`Node.js ${version} is too old`, `Node.js ${oldest.join(".")} or newer is needed`) : ok(version);
}

function checkPrograms({ env }: Session): Verdict {
  const missing = ["ssh", "ssh-keygen"].filter((name) => !isOnPath(name, env.PATH ?? ""));
  if (missing.length === 0) return ok("ssh and ssh-keygen are installed");
  return warn(
    `${missing.join(" and ")} cannot be found`,
    "install OpenSSH's client: the commands that clm suggests need it",
  );
}

const isOnPath = (name: string, path: string): boolean =>
  path.split(delimiter).some((directory) => directory !== "" && isExecutable(join(directory, name)));

const isExecutable = (path: string): boolean =>
  attempt(() => {
    accessSync(path, constants.X_OK);
    return true;
  }) ?? false;

/** A file from the future means another clock, or that this one was set back. */
function checkClock({ configDir, now }: Session): Verdict {
  const newest = Math.max(0, ...namesIn(configDir).map((name) => statOf(join(configDir, name))?.mtimeMs ?? 0));
  const ahead = Math.round((newest - now().getTime()) / 1000);
  if (ahead <= 60) return ok("no file in the config directory has a time in the future");
  return warn(`something in ${configDir} was written ${ahead} s in the future`, "timedatectl");
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const namesIn = (directory: string): string[] => attempt(() => readdirSync(directory)) ?? [];
const statOf = (path: string): Stats | undefined => attempt(() => statSync(path));
const modeOf = (found: Stats): string => `0${(found.mode & 0o777).toString(8)}`;
