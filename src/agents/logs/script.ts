import { sh } from "../../quote.js";
import { leash } from "../../remote/leash.js";
import { fill } from "../files/template.js";
import { namedPaths, type ResolvedAgent } from "../plan/resolved-agent.js";
import { probeLibrary, settingsOf } from "../probe/script.js";
import { type Level, levels } from "./entry.js";
import library from "./logs.sh?raw";

/** A time by the host's clock: seconds since 1970, or seconds before the script runs. */
export type Moment = { at: number } | { ago: number };

export interface LogQuery {
  /** `journal` and names of log files; all when absent. */
  sources?: readonly string[] | undefined;
  since?: Moment | undefined;
  until?: Moment | undefined;
  /** Past entries of each source, at most; all when absent. */
  lines?: number | undefined;
  /** Lower levels need not be sent. */
  level: Level;
  follow: boolean;
  /** The same query was answered before, and the connection was lost. */
  again?: boolean;
}

// Bytes of each file that are read. Agents rotate their own files before that; MCP servers do not.
const maxBytes = 20_000_000;
// With a limit on lines, the rest of a file is not even read.
const bytesPerLine = 4000;
const journalLines = 50_000;

export function logFiles({ manifest, paths }: ResolvedAgent): { name: string; path: string; loose: boolean }[] {
  const values = namedPaths(paths);
  return Object.entries(manifest.logs).map(([name, { path, loose }]) => ({
    name,
    path: fill(path, values) ?? path,
    loose,
  }));
}

/** One script for all agents of a host. It contains no secrets. */
export function logsScript(agents: readonly ResolvedAgent[], query: LogQuery): string {
  const { since, until, lines = 0, level } = query;
  const all = lines === 0 || since !== undefined || until !== undefined || level !== "debug";
  return [
    probeLibrary(library),
    leash,
    // The rest of stdin is for the leash (a dead man's switch): without it everything here is killed.
    "exec 3<&0 </dev/null; { beat; kill -KILL 0; } <&3 3<&- & exec 3<&-",
    "probe_clock",
    `from=${moment(since)} until=${moment(until)}`,
    sh`lines=${lines} min_level=${levels.indexOf(level)} again=${query.again ? "yes" : ""}`,
    sh`bytes=${all ? maxBytes : lines * bytesPerLine + 65_536} journal_lines=${all ? journalLines : lines}`,
    // In parallel: one after the other would take as long as all of them together.
    "sections=''",
    ...agents.map((agent, number) => `{\n${section(agent, number, query)}\n} &\nsections="$sections $!"`),
    "wait $sections",
    "echo '- end'",
    "kill -KILL 0",
    "",
  ].join("\n");
}

const moment = (when: Moment | undefined): string =>
  when === undefined ? "" : "at" in when ? String(when.at) : `$((now - ${when.ago}))`;

function section(agent: ResolvedAgent, number: number, { sources, follow, lines }: LogQuery): string {
  const isAsked = (source: string) => sources?.includes(source) ?? true;
  const files = logFiles(agent).filter(({ name }) => isAsked(name));
  const journal = isAsked("journal");
  const past = lines !== 0;
  return [
    settingsOf(agent),
    `number=${number}`,
    "probe_agent",
    ...(journal && past ? ["journal_past"] : []),
    ...files.flatMap(({ name, path, loose }, at) => [
      `${sh`probe_size ${path}`}; offset_${at}=$offset`,
      ...(past ? [sh`probe_past ${name} ${path} ${loose ? "yes" : ""}`] : []),
    ]),
    `echo '${number} - past'`,
    ...(follow && journal ? ['probe_journal --follow --no-tail --since "@$now" &'] : []),
    ...(follow ? files.map(({ name, path }, at) => `${sh`follow ${name} ${path}`} "$offset_${at}" &`) : []),
    "wait",
  ].join("\n");
}
