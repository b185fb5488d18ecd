import { sh } from "../../quote.js";
import { leash } from "../../remote/leash.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { lookBeginning, settingsOf } from "../probe/script.js";
import { type Level, levels } from "./line.js";
import library from "./logs.sh?raw";
import { logFiles, type Source } from "./sources.js";

/** A moment, by the host's clock: seconds since 1970, or so many seconds before it is asked. */
export type Moment = { at: number } | { ago: number };

export interface Asking {
  sources: readonly Source[];
  since?: Moment | undefined;
  until?: Moment | undefined;
  /** How many entries of each source that were before, at most; all when there is no number. */
  lines?: number | undefined;
  /** What is below it need not be sent. */
  level: Level;
  /** Goes on with what comes later. */
  follow: boolean;
  /** The same was asked before, and the answer broke off. */
  again?: boolean;
}

// Bytes of each file that are looked at. Hermes rotates its own at 5 MB; others write the one of the MCP servers.
const farthest = 20_000_000;
// Of an entry of a usual length; the rest of the files is not even read.
const bytesPerLine = 4000;
const journalLines = 50_000;

/** The script that reads, and follows, what all of a host's agents say. It holds nothing secret. */
export function logsScript(agents: readonly ResolvedAgent[], asking: Asking): string {
  const { since, until, lines = 0, level } = asking;
  const all = lines === 0 || since !== undefined || until !== undefined || level !== "debug";
  return [
    lookBeginning(library),
    leash,
    // The rest of stdin is for the leash. When nobody listens any more, all of this ends.
    "exec 3<&0 </dev/null; { beat; kill -KILL 0; } <&3 3<&- & exec 3<&-",
    "see_clock",
    `from=${moment(since)} until=${moment(until)}`,
    sh`lines=${lines} least=${levels.indexOf(level)} again=${asking.again ? "yes" : ""}`,
    sh`bytes=${all ? farthest : lines * bytesPerLine + 65_536} journal_lines=${all ? journalLines : lines}`,
    // One after the other would take as long as all of them together.
    "sections=''",
    ...agents.map((agent, number) => `{\n${section(agent, number, asking)}\n} &\nsections="$sections $!"`),
    "wait $sections",
    "echo '- end'",
    "kill -KILL 0",
    "",
  ].join("\n");
}

const moment = (when: Moment | undefined): string =>
  when === undefined ? "" : "at" in when ? String(when.at) : `$((now - ${when.ago}))`;

function section(agent: ResolvedAgent, number: number, { sources, follow, lines }: Asking): string {
  const files = logFiles.filter((name) => sources.includes(name));
  const journal = sources.includes("journal");
  const past = lines !== 0;
  return [
    settingsOf(agent),
    `number=${number}`,
    "see_agent",
    ...(journal && past ? ["journal_past"] : []),
    ...files.flatMap((name, at) => [`see_size ${name}; offset_${at}=$offset`, ...(past ? [`see_past ${name}`] : [])]),
    `echo '${number} - past'`,
    ...(follow && journal ? ['see_journal --follow --no-tail --since "@$now" &'] : []),
    ...(follow ? files.map((name, at) => `follow ${name} "$offset_${at}" &`) : []),
    "wait",
  ].join("\n");
}
