import { availableParallelism } from "node:os";
import { inParallel } from "../async/limit.js";
import { Fault, isFault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";
import { ensureBase } from "./base.js";
import { isRunning, start, untilUp } from "./boot.js";
import { stopIfAborted } from "./command.js";
import { clear } from "./down.js";
import { ask } from "./enter.js";
import { machineDirectory, withLock } from "./lock.js";
import { ensurePackages, raiseLimits } from "./machine.js";
import { type HostNames, type LabNames, labNames } from "./names.js";
import { nameServers, openNat } from "./nat.js";
import { chooseSubnet, ensureBridge, ensureWires } from "./network.js";
import { mustBePossible, mustFit } from "./preconditions.js";
import { type LabRecord, readRecord, writeRecord } from "./record.js";
import { ensureRoot, makeHostKey } from "./root.js";
import { type Lab, labStatus } from "./status.js";
import { address } from "./subnet.js";
import { type LabOptions, loginUser, type WorkOptions } from "./types.js";

interface UpOptions extends LabOptions, WorkOptions {
  authorizedKey: string;
}

/** Makes or repairs a lab: existing hosts stay, stopped ones start again with their data. */
export async function up(options: UpOptions): Promise<Lab> {
  const names = labNames(options.name);
  await mustBePossible(options);
  await ensurePackages(options);
  const base = (await readRecord(names.lab))?.base ?? (await ensureBase(options.release, options));

  const waiting = () => options.progress.update("waiting for another clm at work on it");
  return withLock(names.directory, { signal: options.signal, waiting }, async () => {
    const record = (await readRecord(names.lab)) ?? (await begin(names, base, options));
    mustFit(options, record);
    const known = record.hosts.map(({ number }) => names.host(number));
    await enlarge(names, record, options);
    await startHosts(names, record, options);
    await adjust(known, record, options);
    return labStatus(record);
  });
}

/** A new lab: removes leftovers of that name and takes a subnet. */
async function begin(names: LabNames, base: string, options: UpOptions): Promise<LabRecord> {
  await clear(names);
  const { release, authorizedKey, signal } = options;
  return withLock(machineDirectory, { signal }, async () => {
    const lab = { schema: 1 as const, name: names.lab, release, base, internet: false, authorizedKey, hosts: [] };
    const record: LabRecord = { ...lab, subnet: await chooseSubnet() };
    await writeRecord(record);
    await ensureBridge(names, record.subnet);
    return record;
  });
}

/** Makes keys for new hosts and records them. */
async function enlarge(names: LabNames, record: LabRecord, options: UpOptions): Promise<void> {
  const first = record.hosts.length + 1;
  const added = Array.from({ length: options.hosts - record.hosts.length }, (_, at) => names.host(first + at));
  const keys = await inParallel(added, 8, async (host) => ({ number: host.number, hostKey: await makeHostKey(host) }));
  const internet = record.internet || options.internet;
  if (added.length === 0 && internet === record.internet) return;
  record.hosts.push(...keys);
  record.internet = internet;
  await writeRecord(record);
}

// Twenty hosts take the same 5 s on two cores whether 6 or 20 boot at once; more at once only delay the first ones.
const atOnce = Math.max(8, 4 * availableParallelism());

async function startHosts(names: LabNames, record: LabRecord, options: UpOptions): Promise<void> {
  const { progress, signal } = options;
  const hosts = record.hosts.map(({ number }) => names.host(number));
  const running = await inParallel(hosts, 32, isRunning);
  const stopped = hosts.filter((_, at) => !running[at]);
  if (stopped.length > 0 || options.internet) {
    await raiseLimits(progress);
    progress.update("making the network");
    await ensureBridge(names, record.subnet);
    await ensureWires(names, options.internet ? hosts : stopped, record.subnet, record.internet);
    if (record.internet) await openNat(names, record.subnet, progress);
  }
  const resolv = record.internet ? await nameServers() : "";
  const identity = { base: record.base, authorizedKey: options.authorizedKey, resolv };

  let up = 0;
  const startOne = async (host: HostNames): Promise<Fault | undefined> => {
    try {
      stopIfAborted(signal);
      if (stopped.includes(host)) {
        await ensureRoot(host, identity);
        await start(host);
      }
      await untilUp(host, address(record.subnet, host.number), 120_000, signal);
    } catch (error) {
      if (isFault(error, "unreachable")) return error;
      throw error;
    }
    progress.update(`${++up} of ${hosts.length} hosts up`);
    return undefined;
  };
  const [first, ...others] = (await inParallel(hosts, atOnce, startOne)).flatMap((fault) => fault ?? []);
  if (!first) return;
  throw new Fault("unreachable", first.message, {
    why: [...first.why, ...others.map(({ message, why }) => `also: ${message}: ${why[0]}`)],
    next: first.next,
  });
}

/** Updates existing hosts: authorized key and name servers. */
async function adjust(known: HostNames[], record: LabRecord, options: UpOptions): Promise<void> {
  const put = (path: string, input: string) =>
    inParallel(known, 8, async (host) => {
      const { code, stderr } = await ask(host, ["sh", "-c", 'cat > "$1"', "sh", path], { input });
      if (code !== 0)
        throw new Fault("remote-failed", `cannot write ${path} on ${host.name}`, { why: lastLines(stderr, 2) });
    });
  if (options.internet) await put("/etc/resolv.conf", await nameServers());
  if (record.authorizedKey === options.authorizedKey) return;
  await put(`/home/${loginUser}/.ssh/authorized_keys`, `${options.authorizedKey.trim()}\n`);
  record.authorizedKey = options.authorizedKey;
  await writeRecord(record);
}
