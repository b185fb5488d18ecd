import { faults } from "../../errors.js";
import type { answersIn } from "../../flows/agent/configure/answers-file.js";
import type { Change, Configured, StageResult } from "../../flows/agent/configure.js";
import { withSession } from "../../flows/session.js";
import { findAgent } from "../../state/agents.js";
import type { Context, Handler, View } from "../command.js";
import type { configure as declared } from "./commands.js";
import { checkView } from "./view.js";

export const run: Handler<typeof declared> = async ({ args, options }, clm) => {
  const { file, stage, noTest, noValidate, skipChat, allowRemoval, sudoPasswordFile, noRelaxed, ...flags } = options;
  const relaxed = flags.relaxed ? true : noRelaxed ? false : undefined;
  return withSession({ ...clm, sudoPasswordFile }, async (session) => {
    // Loading what reads manifests takes about as long as the handshake: both at once.
    session.pool.connect(findAgent(session.hosts.read(), args.name).host).catch(() => {});
    const { configure, succeeded } = await import("../../flows/agent/configure.js");
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
    if (clm.format === "table") tell(clm, done);
    else clm.show(done, () => "");
    return succeeded(done) ? 0 : faults["check-failed"].exit;
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

function tell(clm: Context, { agent, state, stages, changes, proofs, afterwards }: Configured): void {
  clm.list(stages, stageView);
  const lines = changes.map(changeLine).map((line) => `${clm.dryRun ? "would change" : "changed"} ${line}\n`);
  clm.ui.out(`\n${lines.length > 0 ? lines.join("") : `nothing ${clm.dryRun ? "would change" : "was changed"}\n`}`);
  if (proofs.length > 0) {
    clm.ui.out("\n");
    clm.list(proofs, checkView);
  }
  for (const line of afterwards) clm.ui.note(line);
  clm.ui.note(state === "ready" ? `${agent} is ready` : `${agent} is not ready (state=${state})`);
}

const changeLine = ({ what, differences }: Change): string => `${what}: ${differences.join(", ")}`;
