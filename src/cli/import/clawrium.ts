import type { ImportRow } from "../../flows/import/clawrium/conversion.js";
import { importClawrium } from "../../flows/import/clawrium.js";
import type { Compared } from "../../flows/import/compare.js";
import type { Handler, View } from "../command.js";
import type { clawrium } from "./commands.js";

const planView: View<ImportRow> = {
  columns: [
    { title: "what", value: (row) => row.what, whole: true },
    { title: "from", value: (row) => row.from, whole: true },
    { title: "to", value: (row) => row.to ?? "-", whole: true },
    { title: "remark", value: (row) => row.remark && "see below" },
  ],
  // A remark names what is left out, or a command: it must not be cut.
  details: ({ what, from, remark }) => (remark ? [`${what} ${from}: ${remark}`] : []),
  name: (row) => row.from,
};

const comparedView: View<Compared> = {
  columns: [
    { title: "agent", value: (row) => row.agent, whole: true },
    { title: "what", value: (row) => row.id, whole: true },
    { title: "differs", value: (row) => (row.fix ? "see below" : row.differs) },
  ],
  details: ({ agent, id, differs, fix }) => (fix ? [`${agent} ${id}: ${differs}`, `  fix: ${fix}`] : []),
  name: (row) => row.agent,
};

export const run: Handler<typeof clawrium> = async ({ options }, clm) => {
  const { from, host, acceptNew, noCheck } = options;
  const forPeople = clm.format === "table";
  const { rows, backup, changed, untrusted, compared, ...imported } = await clm.withSession((session) =>
    importClawrium(session, {
      from,
      hostNames: host,
      acceptNew,
      check: !noCheck,
      onPlan: (plan) => forPeople && clm.list(plan, planView),
    }),
  );
  if (!forPeople) {
    return clm.show({ from: imported.from, changed, backup: backup ?? null, plan: rows, untrusted, compared });
  }
  if (!changed && !clm.dryRun) clm.ui.note("Everything of Clawrium's has been imported.");
  for (const each of untrusted) clm.ui.warn(`${each.host} has no pinned key yet: ${each.reason}\n  next: ${each.fix}`);
  if (backup) clm.ui.note(`A backup of the previous files, secrets included, is in ${backup}`);
  if (compared.length > 0) clm.list(compared, comparedView);
};
