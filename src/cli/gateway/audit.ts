import { join } from "node:path";
import { Fault } from "../../errors.js";
import { readUsageFile } from "../../gateway/allowance/usage-file.js";
import { followRequestLines, lastRequestLines } from "../../gateway/audit/read.js";
import type { RequestLine } from "../../gateway/audit/request-line.js";
import { verifyRequestLog } from "../../gateway/audit/verify.js";
import { targetsAgent } from "../../gateway/keys/rights.js";
import { findGatewayKey, gatewayKeyStore } from "../../state/gateway-keys.js";
import { padded } from "../../ui/columns.js";
import { jsonLines } from "../../ui/format.js";
import type { Paint } from "../../ui/paint.js";
import { oneLine } from "../../ui/plain.js";
import type { Column } from "../../ui/table.js";
import type { Context, Handler, View } from "../command.js";
import { parseTimeAsSeconds } from "../parse-time.js";
import type { audit } from "./commands.js";
import { dollars } from "./keys/money.js";

export const run: Handler<typeof audit> = async ({ options }, clm) => {
  const { verify: checks, follow, limit, key, agent, status } = options;
  if (checks) {
    const others = { follow: follow || undefined, limit, key, agent, status, since: options.since };
    const [given] = Object.entries(others).filter(([, value]) => value !== undefined);
    if (given) throw new Fault("usage", `--verify checks the whole log and cannot be combined with --${given[0]}`);
    return verify(clm);
  }
  const since =
    options.since === undefined ? undefined : parseTimeAsSeconds("--since", options.since, clm.now()) * 1000;
  const filter: RequestFilter = { key, agent, status, since };
  const most = limit ?? (since === undefined ? (follow ? 10 : 50) : undefined);
  if (follow) return followLog(clm, filter, most);
  const isAll = Object.values(filter).every((value) => value === undefined);
  clm.list(await lastRequests(clm.configDir, filter, most), isAll ? { ...view, empty: "No requests yet." } : view);
};

async function followLog(clm: Context, filter: RequestFilter, limit: number | undefined): Promise<number> {
  const { ui, format, signal } = clm;
  const dir = dirOf(clm.configDir);
  clm.untilStopped();
  const row = requestRow(clm);
  const print = async (lines: RequestLine[]) => {
    if (format === "json") await ui.data(lines, jsonLines);
    else if (lines.length > 0) await ui.out(lines.map((line) => `${row(line)}\n`).join(""));
  };
  // The end of the log is determined before it is searched, so that no line written meanwhile is skipped.
  const [newest] = await lastRequestLines(dir, { limit: 1 });
  const end = newest?.seq ?? 0;
  const matches = matcherOf(filter);
  const isOld = (line: RequestLine) => line.seq <= end && matches(line);
  await print(await lastRequestLines(dir, { limit, since: filter.since, matches: isOld }));
  for await (const line of followRequestLines(dir, { from: end + 1, signal })) if (matches(line)) await print([line]);
  return 0;
}

/** Throws a fault with the place where the log was changed. */
async function verify(clm: Context): Promise<undefined> {
  const dir = dirOf(clm.configDir);
  // Read before the log: a running gateway counts lines after writing them.
  const counted = readUsageFile(dir).seq;
  const { ok, entries, files, last, firstBad } = await verifyRequestLog(dir);
  if (firstBad) {
    const { file, line, reason } = firstBad;
    throw new Fault("integrity", "the gateway's audit log was changed", {
      why: `${file}${line > 0 ? ` line ${line}` : ""}: ${reason}`,
      data: { entries, ...firstBad },
    });
  }
  if (counted > last) {
    throw new Fault("integrity", "the end of the gateway's audit log is missing", {
      why: `usage.json counts ${counted} lines, and the log ends with ${last === 0 ? "none" : `line ${last}`}`,
      data: { entries, last, counted },
    });
  }
  const where = files > 1 ? ` in ${files} files` : "";
  clm.show({ ok, entries, files }, () => `the gateway's audit log is intact: ${entries} lines${where}`);
}

interface RequestFilter {
  key?: string | undefined;
  /** NAME or HOST/NAME of an agent, or a pattern of one. */
  agent?: string | undefined;
  /** `429`, `4xx`, or the code of a refusal. */
  status?: string | undefined;
  /** Milliseconds since 1970. */
  since?: number | undefined;
}

const dirOf = (configDir: string): string => join(configDir, "gateway");

async function lastRequests(configDir: string, filter: RequestFilter, limit?: number): Promise<RequestLine[]> {
  const found = await lastRequestLines(dirOf(configDir), { limit, since: filter.since, matches: matcherOf(filter) });
  // A mistyped key would otherwise look like an unused one.
  if (found.length === 0 && filter.key !== undefined) findGatewayKey(gatewayKeyStore(configDir).read(), filter.key);
  return found;
}

function matcherOf({ key, agent, status }: RequestFilter): (line: RequestLine) => boolean {
  const hasStatus = status === undefined ? () => true : statusIs(status);
  return (line) =>
    (key === undefined || line.key?.name === key || line.key?.id === key) &&
    (agent === undefined || targetsAgent(agent, line.target)) &&
    hasStatus(line);
}

function statusIs(word: string): (line: RequestLine) => boolean {
  if (/^[1-5]xx$/.test(word)) return ({ status }) => String(status)[0] === word[0];
  if (/^[1-5]\d\d$/.test(word)) return ({ status }) => String(status) === word;
  if (/^[a-z]+(_[a-z]+)*$/.test(word)) return ({ code }) => code === word;
  throw new Fault("bad-input", `--status ${word} is not a status`, {
    why: "it can be 429, 4xx, or a refusal's code such as invalid_api_key",
  });
}

const isBad = ({ status, code }: RequestLine): boolean => status >= 400 || code !== undefined;

const columns: (Column<RequestLine> & { room: number })[] = [
  { title: "time", whole: true, room: 20, value: ({ at }) => at.replace("T", " ").replace(/\.\d+Z$/, "Z") },
  { title: "who", room: 12, least: 8, value: ({ key, from }) => key?.name ?? from },
  { title: "agent", room: 20, value: ({ target }) => target },
  { title: "model", drop: 2, room: 16, value: ({ model }) => model },
  {
    title: "status",
    whole: true,
    room: 6,
    style: (line) => (isBad(line) ? "red" : undefined),
    value: ({ status, code }) => (code === undefined ? status : `${status} ${code}`),
  },
  { title: "tokens", drop: 3, room: 9, value: ({ tokens }) => tokens && tokensText(tokens) },
  { title: "usd", drop: 4, room: 8, value: ({ usd }) => (usd === undefined ? undefined : dollars(usd * 1e9)) },
  { title: "ms", drop: 1, room: 5, value: ({ ms }) => Math.round(ms) },
];

const view: View<RequestLine> = {
  columns,
  name: ({ id }) => id,
  empty: "No matching requests.",
};

const tokensText = ({ input, output, estimated, claimed }: NonNullable<RequestLine["tokens"]>): string =>
  `${estimated ? "~" : claimed ? "!" : ""}${input}+${output}`;

function requestRow({ screen }: Context): (line: RequestLine) => string {
  const dyed = (style: keyof Paint | undefined, text: string) => (screen && style ? screen.paint[style](text) : text);
  return (line) =>
    columns
      .map(({ value, room, style }) => {
        const text = oneLine(String(value(line) ?? "")) || "-";
        return `${dyed(style?.(line), text)}${" ".repeat(Math.max(0, padded(text, room).length - text.length))}`;
      })
      .join("   ")
      .trimEnd();
}
