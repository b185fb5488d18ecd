import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { asFault, Fault } from "../../errors.js";
import { Allowance } from "../../gateway/allowance/allowance.js";
import { Histories } from "../../gateway/allowance/histories.js";
import { Usage } from "../../gateway/allowance/usage.js";
import { RequestLog } from "../../gateway/audit/log.js";
import { readRequestLines } from "../../gateway/audit/read.js";
import type { GatewayParts } from "../../gateway/exchange/gateway-parts.js";
import { Metrics } from "../../gateway/exchange/metrics.js";
import { Keyring } from "../../gateway/keys/keyring.js";
import { Refusal } from "../../gateway/request/refusal.js";
import { type Gateway, openGateway } from "../../gateway/server.js";
import { Nonces } from "../../gateway/signing/nonces.js";
import { mustBeSignable, mustBeSigned } from "../../gateway/signing/verify.js";
import { run } from "../../remote/run.js";
import { openSubdirectory } from "../../state/config-dir.js";
import type { Host } from "../../state/hosts.js";
import { type Lock, LockHeld, withLock } from "../../state/lock.js";
import { defined } from "../../text/defined.js";
import type { Session } from "../session.js";
import { CleanupStack } from "./cleanup-stack.js";
import { isLoopback, type Settings } from "./config.js";
import { signatureCovers } from "./covered-headers.js";
import { servedFleet } from "./fleet.js";
import { livePrices } from "./prices.js";
import { redactor } from "./redactor.js";
import { type HostEvent, upstreamPoolsFor } from "./upstream-pools.js";

export type GatewayEvent =
  | { event: "ready"; url: string; agents: number }
  | HostEvent
  /** So many requests have not ended. */
  | { event: "stopping"; requests: number }
  | { event: "stopped" };

export interface ServeOptions {
  settings: Settings;
  tell: (happening: GatewayEvent) => void;
  /** Called before the first request: from then on there are no prompts. */
  ready: () => void;
}

export async function serveGateway(session: Session, serving: ServeOptions): Promise<void> {
  const lock = { what: "clm gateway serve", wait: 500, signal: session.signal };
  const serve = (held: Lock) => whileLocked(session, serving, held);
  await withLock(session.configDir, "gateway", lock, serve).catch((error) => {
    if (!(error instanceof LockHeld) || error.lock !== "gateway") throw error;
    throw new Fault("locked", "another gateway is running with this config directory", {
      why: error.why[0] ?? [],
      next: "clm gateway serve   # after stopping that one",
      data: error.data,
    });
  });
}

async function whileLocked(session: Session, { settings, tell, ready }: ServeOptions, lock: Lock): Promise<void> {
  const { configDir, now, ui } = session;
  const redact = redactor(session);
  const tls = await tlsOf(settings);
  const dir = openSubdirectory(configDir, "gateway");
  const opened = new CleanupStack();
  try {
    const log = await RequestLog.open(dir, { ...settings.audit, now, isOurs: () => lock.stillMine() });
    opened.add(() => log.close());
    const nonces = await Nonces.open(dir, now);
    opened.add(() => nonces.close());
    const usage = await Usage.open(dir, { lines: (from) => readRequestLines(dir, { from }), last: log.last });
    opened.add(() => usage.close());
    const histories = new Histories({ dir });
    opened.add(() => histories.close());
    const allowance = new Allowance({ models: await livePrices(session), usage, histories, now });
    const keyring = new Keyring(configDir, session.secrets, now);
    const covered = await signatureCovers();
    const fleet = await servedFleet(session);
    await reachHosts(session);
    const pools = upstreamPoolsFor(session, tell);
    opened.add(() => pools.close());

    const parts: GatewayParts = {
      keyring,
      allowance,
      fleet,
      metrics: new Metrics({ pools: () => pools.openConnections() }),
      mustBeSignable: (headers) => void mustBeSignable(headers, { keyring, now }),
      signed: (request) => mustBeSigned(request, { keyring, nonces, covered, now }),
      log: {
        mustBeWritable: () => log.mustBeWritable(),
        sent: (sent) => log.sent(sent),
        async write(call, ending) {
          const seq = await log.write(call, ending);
          if (seq === undefined) return;
          const { at, key, target } = call;
          const { status, tokens, usd } = ending;
          usage.take({ seq, at, status, key, target, tokens, usd });
        },
      },
      upstreamPool: (place) => pools.poolFor(place),
      redact,
      trouble: (error) => ui.warn(redact(troubleIn(error))),
    };
    ready();
    const gateway = await listen(parts, settings, tls);
    opened.add(() => gateway.stop());
    tell({ event: "ready", url: gateway.url, agents: (await fleet()).agents.length });
    await stopped(session.signal, lock);
    tell({ event: "stopping", requests: gateway.underWay });
  } finally {
    await opened.all();
  }
  tell({ event: "stopped" });
  lock.mustBeMine();
}

/**
 * Connects to every host with an agent before the first request: passwords are asked for now, and no request waits for a
 * handshake. A host that does not answer is warned about, and tried again when it is needed.
 */
async function reachHosts({ hosts, pool, signal, ui }: Session): Promise<void> {
  const reach = async (host: Host) => {
    const connection = await pool.connect(host);
    if (host.sudo === "password") await run(connection.as("root"), "true", { timeout: 30_000, signal });
  };
  const warn = (error: unknown) => {
    signal.throwIfAborted();
    const { message, code } = asFault(error);
    ui.warn(`${message} [${code}]`);
  };
  const used = hosts.read().hosts.filter(({ agents }) => Object.keys(agents).length > 0);
  await Promise.all(used.map((host) => reach(host).catch(warn)));
}

/** Callers see only the refusal; its cause is for the gateway's own output. */
function troubleIn(error: unknown): string {
  if (!(error instanceof Refusal)) return `a request failed: ${asFault(error).message}`;
  return `requests are refused (${error.code}): ${asFault(error.cause).message}`;
}

// Milliseconds between two checks of the lock: a suspended gateway may wake up beside another one.
const lockInterval = 1000;

/** Resolves when the session is stopped, or another gateway has taken the lock. */
async function stopped(signal: AbortSignal, lock: Lock): Promise<void> {
  while (!signal.aborted && lock.stillMine()) await sleep(lockInterval, undefined, { signal }).catch(() => {});
}

async function tlsOf({ tls }: Settings) {
  if (!tls) return undefined;
  const read = (path: string) =>
    readFile(path).catch((error: Error) => {
      throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
    });
  return { cert: await read(tls.cert), key: await read(tls.key) };
}

// More than tools need, and few enough that strangers cannot fill the memory.
const maxConnections = 1000;

async function listen(
  parts: GatewayParts,
  settings: Settings,
  tls: Awaited<ReturnType<typeof tlsOf>>,
): Promise<Gateway> {
  const { address, port, drain, silence, firstByte, total, logBodies, answerBytes, streamBytes } = settings;
  const times = { drain: drain * 1000, silence: silence * 1000, firstByte: firstByte * 1000, total: total * 1000 };
  try {
    return await openGateway(parts, {
      address,
      port,
      logBodies,
      traffic: defined({ answerBytes, streamBytes }),
      ...times,
      ...(tls && { tls }),
      ...(!isLoopback(address) && { connections: maxConnections }),
    });
  } catch (error) {
    throw notOpened(settings, error as NodeJS.ErrnoException);
  }
}

function notOpened({ address, port, tls }: Settings, error: NodeJS.ErrnoException): Fault {
  if (error.code === "EADDRINUSE") {
    return new Fault("in-use", `port ${port} of ${address} is taken`, {
      why: "another program listens there",
      next: "clm gateway serve --port 0",
      cause: error,
      flag: "--port",
      data: { port },
    });
  }
  if (tls && error.code?.startsWith("ERR_OSSL")) {
    return new Fault("bad-input", `${tls.cert} and ${tls.key} are not a certificate and its key`, {
      why: error.message,
      cause: error,
    });
  }
  return new Fault("bad-input", `the gateway cannot listen on ${address} port ${port}`, {
    why: error.code === "EADDRNOTAVAIL" ? "this machine does not have that address" : error.message,
    cause: error,
  });
}
