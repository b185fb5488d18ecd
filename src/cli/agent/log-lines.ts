import { type Level, splitLogger } from "../../agents/logs/entry.js";
import type { AgentLogEntry } from "../../flows/logs/logs.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { padded } from "../../ui/columns.js";
import type { Paint } from "../../ui/paint.js";
import { plain } from "../../ui/plain.js";

export interface LineOptions {
  /** Absent without colours. */
  paint?: Paint | undefined;
  utc: boolean;
  /** With more than one, each line begins with its agent. */
  agents: readonly Agent[];
}

// Readable on light and dark backgrounds, and not used for levels.
const colours = ["cyan", "magenta", "green"] as const;
const styles: Partial<Record<Level, keyof Paint>> = { error: "red", warning: "yellow", debug: "dim" };
const widest = Math.max(...["debug", "info", "warning", "error"].map((level) => level.length));

/** An entry as text: time, level, text. Never truncated or folded, so that grep finds it. */
export function logLines({ paint, utc, agents }: LineOptions): (entry: AgentLogEntry) => string {
  const dyed = (style: keyof Paint | undefined, text: string) => (paint && style ? paint[style](text) : text);
  const names = new Map(agents.map((agent) => [agent, hostAndName(agent)]));
  const room = Math.max(...[...names.values()].map((name) => name.length));
  // From the name, so that an agent always has the same colour.
  const owner = (agent: Agent) => {
    const name = names.get(agent) ?? "";
    const sum = [...name].reduce((total, char) => (total * 31 + char.charCodeAt(0)) % 9973, 0);
    return `${dyed(colours[sum % colours.length], padded(name, room))} | `;
  };
  return ({ agent, at, level, text }) => {
    const begin = agents.length > 1 ? owner(agent) : "";
    const [first = "", ...more] = plain(text).split("\n");
    const head = `${begin}${dyed("dim", timeText(at, utc))} ${dyed(styles[level], padded(level.toUpperCase(), widest))} ${first}`;
    return [head, ...more.map((line) => `${begin}${line}`)].map((line) => `${line.trimEnd()}\n`).join("");
  };
}

function timeText(at: number, utc: boolean): string {
  if (Number.isNaN(at)) return "-".padEnd(19);
  if (utc) return new Date(at).toISOString().slice(0, 19).concat("Z");
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

export function logObject({ agent, at, level, source, text }: AgentLogEntry): object {
  const { logger, message } = splitLogger(plain(text));
  return {
    time: Number.isNaN(at) ? null : new Date(at).toISOString(),
    agent: agent.name,
    host: agent.host.name,
    level,
    source,
    logger: logger ?? null,
    message,
  };
}
