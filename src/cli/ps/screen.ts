import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { hostAndName } from "../../state/agents.js";
import { cut } from "../../ui/columns.js";
import { oneLine } from "../../ui/plain.js";
import { fitted, type Screen } from "../../ui/screen.js";
import { table } from "../../ui/table.js";
import { age } from "../../ui/time.js";
import type { Context } from "../command.js";
import { byWorst, countText, fleetColumns, signsFor } from "./view.js";
import type { Show } from "./watch.js";

/** Milliseconds for which a change is highlighted. */
const freshFor = 30_000;
/** Milliseconds after which a host counts as late: its last status may be outdated. */
const lateAfter = 4000;

/** The fleet on a terminal, redrawn after every observation and once a second. */
export function drawing({ ui, now }: Context, screen: Screen, every: number): Show {
  const changes = new Map<string, { at: number; was: string }>();
  let all: AgentStatus[] = [];
  const canvas = screen.open(draw);
  const clock = setInterval(draw, 1000);

  function draw(): void {
    const { columns, rows, paint } = screen;
    const time = now();
    const isLate = ({ at, observation }: AgentStatus) =>
      observation !== undefined && time.getTime() - Date.parse(at) > every + lateAfter;
    const late = [...new Set(all.filter(isLate).map(({ agent }) => agent.host.name))];
    const counts = all.length === 0 ? "asking the hosts …" : countText(all);
    const head = cut(`${time.toTimeString().slice(0, 8)}   ${counts}   every ${every / 1000}s, Ctrl-C ends`, columns);
    const waiting = late.length === 0 ? [] : [paint.yellow(cut(`no answer yet from ${late.join(", ")}`, columns))];
    const spec = fleetColumns(all, {
      signs: signsFor({ screen }),
      now: time,
      doubtful: isLate,
      fresh: ({ agent }) => isFresh(hostAndName(agent), time),
      more: (found) =>
        isLate(found) ? `as it was ${age(found.at, time)} ago` : wasText(hostAndName(found.agent), time),
    });
    const room = rows - 2 - waiting.length;
    // One line is the table's header.
    const shown = all.length + 1 > room ? byWorst(all) : all;
    const clean = (text: string) => oneLine(ui.redact(text));
    const lines = table(shown, spec, { clean, width: columns, paint }).trimEnd().split("\n");
    canvas.draw([paint.bold(head), ...waiting, "", ...(all.length === 0 ? [] : fitted(lines, room, columns))]);
  }

  const isFresh = (key: string, time: Date): boolean => time.getTime() - (changes.get(key)?.at ?? 0) < freshFor;

  function wasText(key: string, time: Date): string | undefined {
    const change = changes.get(key);
    return change && isFresh(key, time) ? `was ${change.was} ${age(new Date(change.at), time)} ago` : undefined;
  }

  draw();
  return {
    change(status, before) {
      if (before && before.state !== status.state)
        changes.set(hostAndName(status.agent), { at: now().getTime(), was: before.state });
    },
    forget: (agent) => {
      changes.delete(hostAndName(agent));
      all = all.filter((status) => hostAndName(status.agent) !== hostAndName(agent));
    },
    probed: (statuses) => {
      all = inOrder(statuses);
      draw();
    },
    end: () => {
      clearInterval(clock);
      canvas.close();
    },
  };
}

/** Hosts answer in any order, and rows must not jump. */
const inOrder = (all: AgentStatus[]): AgentStatus[] =>
  [...all].sort((a, b) => hostAndName(a.agent).localeCompare(hostAndName(b.agent), "en", { numeric: true }));
