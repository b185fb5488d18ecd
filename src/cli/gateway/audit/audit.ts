import { Fault } from "../../../errors.js";
import { followRequests, lastRequests, type RequestFilter, verifyRequests } from "../../../flows/gateway/audit.js";
import { jsonLines } from "../../../ui/format.js";
import type { Context, Handler } from "../../command.js";
import { parseTimeAsSeconds } from "../../parse-time.js";
import type { audit } from "./commands.js";
import { requestRow, view } from "./view.js";

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
  const nothingYet = { ...view, empty: "No requests yet." };
  clm.list(await lastRequests(clm.configDir, filter, most), isAll ? nothingYet : view);
};

async function followLog(clm: Context, filter: RequestFilter, limit: number | undefined): Promise<number> {
  clm.untilStopped();
  const row = requestRow(clm);
  for await (const lines of followRequests(clm.configDir, filter, { limit, signal: clm.signal })) {
    if (clm.format === "json") await clm.ui.data(lines, jsonLines);
    else if (lines.length > 0) await clm.ui.out(lines.map((line) => `${row(line)}\n`).join(""));
  }
  return 0;
}

async function verify(clm: Context): Promise<undefined> {
  const { ok, entries, files } = await verifyRequests(clm.configDir);
  const where = files > 1 ? ` in ${files} files` : "";
  clm.show({ ok, entries, files }, () => `the gateway's audit log is intact: ${entries} lines${where}`);
}
