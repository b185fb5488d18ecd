import { Fault } from "../../errors.js";
import type { answersIn, SecretTest } from "../../flows/agent/configure/answers-file.js";
import type { Configured, ConfigureRequest, StageResult } from "../../flows/agent/configure.js";
import { agentId, findAgent } from "../../state/agents.js";
import type { Context, Handler, View } from "../command.js";
import { runOnAgents } from "../run-on-agents.js";
import { configure } from "./commands.js";
import { changeText } from "./print-result.js";
import { briefCheckView, nextCommand } from "./view.js";

export const run: Handler<typeof configure> = async ({ args, options }, clm) => {
  const { file, stage, noTest, noValidate, skipChat, allowRemoval, noRelaxed, ...flags } = options;
  if (flags.relaxed && noRelaxed) throw new Fault("usage", "--relaxed and --no-relaxed contradict each other");
  const relaxed = flags.relaxed ? true : noRelaxed ? false : undefined;
  const flows = () => import("../../flows/agent/configure.js");

  const changes: ConfigureRequest["changes"] = async ({ manifest }, record) => {
    const { changesFrom } = await import("../../flows/agent/configure/flags.js");
    const isSecret: SecretTest = (kind, name, field) => {
      const fields = kind === "settings" ? manifest.settings : (manifest[kind][name]?.fields ?? []);
      return fields.some((each) => each.name === field && each.secret !== undefined);
    };
    const below = file === undefined ? undefined : await answersFrom(file, isSecret);
    const on = { channels: Object.keys(record.channels ?? {}), mcp: Object.keys(record.mcp ?? {}) };
    return changesFrom({ ...flags, relaxed }, on, below);
  };

  return runOnAgents(configure, { args, options }, clm, {
    run: async (session, ref) => {
      // Loading what reads manifests takes about as long as the handshake: both at once.
      session.pool.connect(findAgent(session.hosts.read(), ref).host).catch(() => {});
      const how = { stage, test: !noTest, validate: !noValidate, skipChat, allowRemoval };
      return (await flows()).configure(session, ref, { changes, ...how });
    },
    json: ({ agent: _, ...seen }) => seen,
    lines: (done) => (clm.dryRun || done.proofs.some(({ result }) => result === "fail") ? [] : stateLines(done)),
    verify: async (done) => (await flows()).mustBeProven(done),
    print: (done) => tables(clm, done),
  });
};

/** Read with YAML, which takes its time to load. */
const answersFrom: typeof answersIn = async (...words) =>
  (await import("../../flows/agent/configure/answers-file.js")).answersIn(...words);

const stageView: View<StageResult> = {
  columns: [
    { title: "stage", value: (row) => row.name, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    { title: "reason", value: (row) => row.reason },
  ],
  name: (row) => row.name,
};

function tables(clm: Context, { stages, changes, proofs, afterwards }: Configured): void {
  clm.list(stages, stageView);
  const lines = changes.map((change) => `${clm.dryRun ? "would change" : "changed"} ${changeText(change)}\n`);
  clm.ui.out(`\n${lines.length > 0 ? lines.join("") : `nothing ${clm.dryRun ? "would change" : "was changed"}\n`}`);
  if (proofs.length > 0) {
    clm.ui.out("\n");
    clm.list(proofs, briefCheckView);
  }
  for (const line of afterwards) clm.ui.note(line);
}

/** Where it stands now, and what comes next when that is not the end. */
function stateLines({ agent }: Configured): string[] {
  const { state } = agent.record.onboarding;
  return state === "ready"
    ? [`${agentId(agent)} is ready`]
    : [`${agentId(agent)} is not ready (state=${state})`, `next: ${nextCommand(agent)}`];
}
