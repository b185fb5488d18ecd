import type { Change } from "../../agents/plan/change.js";
import { errorOf, faults } from "../../errors.js";
import { type AgentDrift, compareAgents } from "../../flows/fleet/compare.js";
import { quote } from "../../quote.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { identityOf } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { chooseAgentsOrAll } from "../run-on-agents.js";
import type { diff } from "./commands.js";

export const run: Handler<typeof diff> = ({ args, options }, clm) =>
  printDifferences(clm, chooseAgentsOrAll(clm, args.names, options), { ...options, lone: false });

interface PrintOptions {
  parallel: number;
  /** One agent was named: print an object, not a list. */
  lone: boolean;
}

export async function printDifferences(
  clm: Context,
  agents: Agent[],
  { parallel, lone }: PrintOptions,
): Promise<number> {
  const compared = await clm.withSession((session) => compareAgents(session, agents, { parallel }));
  const data = compared.map(jsonOf);
  if (clm.format === "name") for (const ref of refsWith(compared, "differs")) clm.ui.out(`${ref}\n`);
  else clm.show(lone ? data[0] : data, () => compared.map(block).join(""));
  if (clm.format === "table") summarize(clm, compared);
  return exitOf(compared);
}

type Result = "same" | "differs" | "unknown";

function resultOf({ drift }: AgentDrift): Result {
  if ("unknown" in drift) return "unknown";
  return drift.changes.length + drift.lost.length > 0 ? "differs" : "same";
}

const refsWith = (compared: AgentDrift[], result: Result): string[] =>
  compared.filter((each) => resultOf(each) === result).map(({ agent }) => agent.ref);

function jsonOf(each: AgentDrift): object {
  const { agent, drift } = each;
  const about = { ...identityOf(agent), result: resultOf(each) };
  if (!("unknown" in drift)) return { ...about, changes: drift.changes, lost: drift.lost };
  return { ...about, error: errorOf(drift.fault) };
}

/** Empty for an agent without drift. */
function block(each: AgentDrift): string {
  const { agent, drift } = each;
  if (resultOf(each) === "same") return "";
  const lines =
    "unknown" in drift
      ? [`unknown: ${drift.unknown}`, ...drift.fault.next.map((line) => `next: ${line}`)]
      : [
          ...drift.changes.flatMap(changeLines),
          ...drift.lost.flatMap(({ what, reason, fix }) => [
            what,
            `  ${reason}; sync does not repair it`,
            ...(fix ? [`  next: ${fix}`] : []),
          ]),
        ];
  return `${hostAndName(agent)}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

const changeLines = ({ what, differences, details = differences.map(({ text }) => text) }: Change): string[] => [
  what,
  ...details.map((line) => `  ${line}`),
];

function summarize({ ui }: Context, compared: AgentDrift[]): void {
  const [same, differ, unknown] = (["same", "differs", "unknown"] as const).map((each) => refsWith(compared, each));
  const repairable = compared.filter(({ drift }) => "changes" in drift && drift.changes.length > 0);
  if (repairable.length > 0)
    ui.say(`next: clm agent sync ${repairable.map(({ agent }) => quote(agent.ref)).join(" ")}`);
  ui.note(
    [
      `${same?.length} as configured`,
      ...(differ?.length ? [`${differ.length} ${differ.length === 1 ? "differs" : "differ"}`] : []),
      ...(unknown?.length ? [`${unknown.length} unknown`] : []),
    ].join(", "),
  );
}

/** A failed comparison outranks differences: scripts must not mistake it for drift. */
function exitOf(compared: AgentDrift[]): number {
  const failures = compared.flatMap(({ drift }) => ("unknown" in drift ? drift.fault.exit : []));
  if (failures.length > 0) return Math.max(...failures);
  return compared.some((each) => resultOf(each) === "differs") ? faults.differs.exit : 0;
}
