import { Fault } from "../../../errors.js";
import { enableCodex } from "../../../flows/agent/runtime/enable.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { briefCheckView, checkView } from "../view.js";
import { enable } from "./commands.js";
import { canaryPace, hasAnswered, printChanges, wouldChange } from "./view.js";

export const run: Handler<typeof enable> = ({ args, options }, clm) => {
  const {
    codexHome: home,
    permissions,
    auxiliary,
    skipChat,
    installCodex,
    codexVersion: version,
    codexFile: file,
  } = options;
  if (options.mirror && options.noMirror) throw new Fault("usage", "--mirror and --no-mirror contradict each other");
  if (!installCodex && (version ?? file) !== undefined) {
    throw new Fault("usage", `${file ? "--codex-file" : "--codex-version"} goes with --install-codex`);
  }
  const mirror = options.mirror ? true : options.noMirror ? false : undefined;
  const install = installCodex ? { version, file } : undefined;
  return runOnAgents(enable, { args, options }, clm, {
    pace: canaryPace(options),
    run: (session, ref) => enableCodex(session, ref, { home, permissions, mirror, auxiliary, skipChat, install }),
    json: ({ agent: _, ...result }) => result,
    lines: ({ changes, proofs, notes }, subject) => {
      const same = changes.length === 0;
      if (clm.dryRun)
        return [
          ...wouldChange(changes, subject),
          ...notes,
          ...(same ? [`${subject}runs on Codex already; nothing would change`] : []),
        ];
      if (proofs.length === 0)
        return [...notes, `${subject}is set to run on Codex; it is stopped, so nothing was proven`];
      const how = `${same ? " already; nothing was changed" : ""}${hasAnswered(proofs) ? ", and answers" : ""}`;
      return [...notes, `${subject}runs on Codex${how}`];
    },
    print: ({ checks, changes, proofs }) => {
      clm.list(checks, checkView);
      clm.ui.out("\n");
      printChanges(clm, changes);
      if (proofs.length > 0) clm.list(proofs, briefCheckView);
    },
  });
};
