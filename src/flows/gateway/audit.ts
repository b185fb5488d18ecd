import { join } from "node:path";
import { Fault } from "../../errors.js";
import { readUsageFile } from "../../gateway/allowance/usage-file.js";
import { followRequestLines, lastRequestLines } from "../../gateway/audit/read.js";
import type { RequestLine } from "../../gateway/audit/request-line.js";
import { type Verdict, verifyRequestLog } from "../../gateway/audit/verify.js";
import { findGatewayKey, gatewayKeyStore } from "../../state/gateway-keys.js";
import { matchesPattern } from "../../text/wildcard.js";

export interface RequestFilter {
  key?: string | undefined;
  /** NAME or HOST/NAME of an agent, or a pattern of one. */
  agent?: string | undefined;
  /** `429`, `4xx`, or the code of a refusal. */
  status?: string | undefined;
  /** Milliseconds since 1970. */
  since?: number | undefined;
}

const dirOf = (configDir: string): string => join(configDir, "gateway");

/** The last matching requests, oldest first. */
export async function lastRequests(configDir: string, filter: RequestFilter, limit?: number): Promise<RequestLine[]> {
  const found = await lastRequestLines(dirOf(configDir), { limit, since: filter.since, matches: matcherOf(filter) });
  // A mistyped key would otherwise look like an unused one.
  if (found.length === 0 && filter.key !== undefined) findGatewayKey(gatewayKeyStore(configDir).read(), filter.key);
  return found;
}

/** The last matching requests, and then each one that ends. */
export async function* followRequests(
  configDir: string,
  filter: RequestFilter,
  { limit, signal }: { limit?: number | undefined; signal: AbortSignal },
): AsyncGenerator<RequestLine[]> {
  // The end of the log is determined before it is searched, so that no line written meanwhile is skipped.
  const [newest] = await lastRequestLines(dirOf(configDir), { limit: 1 });
  const end = newest?.seq ?? 0;
  const matches = matcherOf(filter);
  const isOld = (line: RequestLine) => line.seq <= end && matches(line);
  yield await lastRequestLines(dirOf(configDir), { limit, since: filter.since, matches: isOld });
  for await (const line of followRequestLines(dirOf(configDir), { from: end + 1, signal }))
    if (matches(line)) yield [line];
}

/** Throws a fault with the place where the log was changed. */
export async function verifyRequests(configDir: string): Promise<Verdict> {
  // Read before the log: a running gateway counts lines after writing them.
  const counted = readUsageFile(dirOf(configDir)).seq;
  const verdict = await verifyRequestLog(dirOf(configDir));
  const { ok, entries, last, firstBad } = verdict;
  if (ok && counted <= last) return verdict;
  if (ok) {
    throw new Fault("integrity", "the end of the gateway's audit log is missing", {
      why: `usage.json counts ${counted} lines, and the log ends with ${last === 0 ? "none" : `line ${last}`}`,
      data: { entries, last, counted },
    });
  }
  throw new Fault("integrity", "the gateway's audit log was changed", {
    why: firstBad ? `${firstBad.file}${firstBad.line > 0 ? ` line ${firstBad.line}` : ""}: ${firstBad.reason}` : [],
    data: { entries, ...firstBad },
  });
}

function matcherOf({ key, agent, status }: RequestFilter): (line: RequestLine) => boolean {
  const hasStatus = status === undefined ? () => true : statusIs(status);
  return (line) =>
    (key === undefined || line.key?.name === key || line.key?.id === key) &&
    (agent === undefined || isFor(agent, line.target)) &&
    hasStatus(line);
}

function isFor(agent: string, target: string | undefined): boolean {
  const [host, name] = target?.split("/") ?? [];
  return name !== undefined && (matchesPattern(agent, name) || matchesPattern(agent, `${host}/${name}`));
}

function statusIs(word: string): (line: RequestLine) => boolean {
  if (/^[1-5]xx$/.test(word)) return ({ status }) => String(status)[0] === word[0];
  if (/^[1-5]\d\d$/.test(word)) return ({ status }) => String(status) === word;
  if (/^[a-z]+(_[a-z]+)*$/.test(word)) return ({ code }) => code === word;
  throw new Fault("bad-input", `--status ${word} is not a status`, {
    why: "it can be 429, 4xx, or a refusal's code such as invalid_api_key",
  });
}
