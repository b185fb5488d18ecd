import { Fault } from "../../errors.js";
import type { ConfigureResult } from "../../flows/agent/configure/configure.js";
import type { StageResult } from "../../flows/agent/configure/stages.js";
import { agentId, findAgent } from "../../state/agents.js";
import { briefCheckView, nextCommand } from "../agent-view.js";
import type { Context, Handler, View } from "../command.js";
import { changeText } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { configure } from "./commands.js";

export const run: Handler<typeof configure> = async ({ args, options }, clm) => {
  const { file, stage, noTest, noValidate, skipChat, allowRemoval, noRelaxed, ...flags } = options;
  if (flags.relaxed && noRelaxed) throw new Fault("usage", "--relaxed and --no-relaxed contradict each other");
  const relaxed = flags.relaxed ? true : noRelaxed ? false : undefined;
  const flows = () => import("../../flows/agent/configure/configure.js");
  const request = { stage, file, test: !noTest, validate: !noValidate, skipChat, allowRemoval };

  return runOnAgents(configure, { args, options }, clm, {
    run: async (session, ref) => {
      // Loading code that reads manifests takes about as long as the handshake: both at once.
      session.pool.connect(findAgent(session.hosts.read(), ref).host).catch(() => {});
      return (await flows()).configureAgent(session, ref, { ...request, flags: { ...flags, relaxed } });
    },
    json: ({ agent: _, ...result }) => result,
    lines: (done) => (clm.dryRun || done.proofs.some(({ result }) => result === "fail") ? [] : stateLines(done)),
    verify: async (done) => (await flows()).mustBeProven(done),
    print: (done) => tables(clm, done),
  });
};

const stageView: View<StageResult> = {
  columns: [
    { title: "stage", value: (row) => row.name, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    { title: "reason", value: (row) => row.reason },
  ],
  name: (row) => row.name,
};

function tables(clm: Context, { stages, changes, proofs, afterwards }: ConfigureResult): void {
  clm.list(stages, stageView);
  const lines = changes.map((change) => `${clm.dryRun ? "would change" : "changed"} ${changeText(change)}\n`);
  clm.ui.out(`\n${lines.length > 0 ? lines.join("") : `nothing ${clm.dryRun ? "would change" : "was changed"}\n`}`);
  if (proofs.length > 0) {
    clm.ui.out("\n");
    clm.list(proofs, briefCheckView);
  }
  for (const line of afterwards) clm.ui.note(line);
}

function stateLines({ agent }: ConfigureResult): string[] {
  const { state } = agent.record.onboarding;
  return state === "ready"
    ? [`${agentId(agent)} is ready`]
    : [`${agentId(agent)} is not ready (state=${state})`, `next: ${nextCommand(agent)}`];
}
