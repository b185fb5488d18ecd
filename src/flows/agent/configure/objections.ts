import type { Manifest } from "../../../agents/manifest.js";
import type { Seen } from "../../../agents/proof/seen.js";
import type { Rendering } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import type { Ui } from "../../../ui/ui.js";
import { freePort, objectionTo } from "../preflight/port.js";

/** `.env` is clm's alone. What somebody else put there is named before it goes. */
export function mustNotDrop(agent: Agent, { env }: Rendering, { variables }: Seen, dryRun: Ui | undefined): void {
  const ours = new Set([...env.keys(), ...(agent.record.rendered?.env ?? [])]);
  const foreign = [...variables.keys()].filter((name) => !ours.has(name));
  if (foreign.length === 0) return;
  const what = `.env on ${agent.host.name} has what clm did not put there: ${foreign.join(", ")}`;
  if (dryRun) {
    dryRun.warn(`${what}; it needs --allow-removal`);
    return;
  }
  throw new Fault("in-use", what, {
    why: "configuring would take it away; nothing was changed",
    next: [
      ...foreign.slice(0, 3).map((name) => `clm agent secret set ${agent.word} ${name}`),
      `clm agent configure ${agent.word} --allow-removal`,
    ],
    data: { variables: foreign, flag: "--allow-removal" },
  });
}

/** The agent's port: as it is, or another that nobody has on the host. */
export function portFor(
  { host, name, word, record }: Agent,
  range: Manifest["api"]["port"],
  { ports, uid }: Seen,
  wanted: number | "auto" | undefined,
): number {
  if (wanted === undefined || wanted === record.port) return record.port;
  const recorded = Object.entries(host.agents).flatMap(([other, agent]) => (other === name ? [] : [agent.port]));
  const question = { range, recorded, listening: ports, uid };
  if (wanted === "auto") {
    // The one it has will do, unless somebody else listens there.
    const port = objectionTo(record.port, question) ? freePort(question) : record.port;
    if (port !== undefined) return port;
    throw new Fault("in-use", `every port from ${range.first} to ${range.last} is taken on ${host.name}`);
  }
  const objection = objectionTo(wanted, question);
  if (!objection) return wanted;
  throw new Fault("in-use", `${objection}; nothing was changed`, { next: `clm agent configure ${word} --port auto` });
}
