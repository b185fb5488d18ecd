import { Fault } from "../../errors.js";
import type { answersIn } from "../../flows/agent/configure/answers-file.js";
import type { Configured, StageResult } from "../../flows/agent/configure.js";
import { withSession } from "../../flows/session.js";
import { findAgent, titleOf } from "../../state/agents.js";
import type { Context, Handler, View } from "../command.js";
import type { configure as declared } from "./commands.js";
import { changeText, tell } from "./tell.js";
import { judgedView, nextFor } from "./view.js";

export const run: Handler<typeof declared> = async ({ args, options }, clm) => {
  const { file, stage, noTest, noValidate, skipChat, allowRemoval, sudoPasswordFile, noRelaxed, ...flags } = options;
  if (flags.relaxed && noRelaxed) throw new Fault("usage", "--relaxed and --no-relaxed contradict each other");
  const relaxed = flags.relaxed ? true : noRelaxed ? false : undefined;
  return withSession({ ...clm, sudoPasswordFile }, async (session) => {
    // Loading what reads manifests takes about as long as the handshake: both at once.
    session.pool.connect(findAgent(session.hosts.read(), args.name).host).catch(() => {});
    const { configure, mustBeProven } = await import("../../flows/agent/configure.js");
    const { changesFrom } = await import("../../flows/agent/configure/flags.js");
    const done = await configure(session, args.name, {
      changes: async ({ manifest }, record) => {
        const isSecret = (kind: "channels" | "mcp", name: string, field: string) =>
          manifest[kind][name]?.fields.some((each) => each.name === field && each.secret !== undefined) ?? false;
        const below = file === undefined ? undefined : await answersFrom(file, isSecret);
        const on = { channels: Object.keys(record.channels ?? {}), mcp: Object.keys(record.mcp ?? {}) };
        return changesFrom({ ...flags, relaxed }, on, below);
      },
      stage,
      test: !noTest,
      validate: !noValidate,
      skipChat,
      allowRemoval,
    });
    const { agent, ...seen } = done;
    tell(clm, agent, seen, () => tables(clm, done));
    mustBeProven(done);
    tellState(clm, done);
    return undefined;
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
    clm.list(proofs, judgedView);
  }
  for (const line of afterwards) clm.ui.note(line);
}

/** Where it stands now, and what comes next when that is not the end. */
function tellState({ ui, dryRun }: Context, { agent }: Configured): void {
  if (dryRun) return;
  const { state } = agent.record.onboarding;
  ui.note(state === "ready" ? `${titleOf(agent)} is ready` : `${titleOf(agent)} is not ready (state=${state})`);
  if (state !== "ready") ui.note(`next: ${nextFor(agent)}`);
}
