import { Fault } from "../../errors.js";
import type { AuditEntry } from "../../state/audit/entry.js";
import { readAudit, verifyAudit } from "../../state/audit/read.js";
import { duration } from "../../ui/time.js";
import type { Context, Handler, View } from "../command.js";
import type { audit } from "./commands.js";

export const run: Handler<typeof audit> = async ({ options }, clm) => {
  if (options.verify) return verify(clm);
  const actions = actionsFrom(readAudit(clm.configDir, options.target === undefined ? {} : { target: options.target }));
  clm.list(options.last === undefined ? actions : actions.slice(-options.last), view);
};

/** A command that changed something, from its line at the beginning and the one at the end, if it got that far. */
interface Action extends Pick<AuditEntry, "id" | "verb" | "target" | "who" | "argv" | "fault" | "detail"> {
  began_at: string;
  ended_at?: string;
  result: NonNullable<AuditEntry["result"]> | "unfinished";
}

function actionsFrom(entries: readonly AuditEntry[]): Action[] {
  const actions = new Map<string, Action>();
  for (const { id, event, at, verb, target, who, argv, result, fault, detail } of entries) {
    const begun = actions.get(id) ?? { id, began_at: at, verb, target, who, result: "unfinished" };
    const ended = { ended_at: at, ...(result && { result }), ...(fault && { fault }), ...(detail && { detail }) };
    actions.set(id, { ...begun, ...(event === "begin" ? argv && { argv } : ended) });
  }
  return [...actions.values()];
}

const view: View<Action> = {
  columns: [
    { title: "began", whole: true, value: ({ began_at }) => began_at.replace("T", " ").replace(/\.\d+Z$/, "Z") },
    {
      title: "took",
      drop: 1,
      value: ({ began_at, ended_at }) => ended_at && duration(Date.parse(ended_at) - Date.parse(began_at)),
    },
    { title: "who", drop: 2, value: ({ who }) => (who.sudo_user ? `${who.sudo_user} as ${who.user}` : who.user) },
    { title: "did", whole: true, value: ({ verb }) => verb },
    { title: "to", value: ({ target }) => target },
    { title: "result", whole: true, value: ({ result, fault }) => (fault ? `${result} ${fault}` : result) },
  ],
  name: ({ id }) => id,
  empty: "No changes yet.",
};

function verify(clm: Context): undefined {
  const { ok, entries, firstBad, unfinished } = verifyAudit(clm.configDir);
  if (!ok) {
    throw new Fault("integrity", "the audit log was changed", {
      why: firstBad ? `${firstBad.line > 0 ? `line ${firstBad.line}: ` : ""}${firstBad.reason}` : [],
      data: { entries, ...firstBad },
    });
  }
  const open = unfinished.map(({ verb, target, at }) => `\nunfinished: ${verb} ${target} (${at})`).join("");
  clm.show(
    { ok, entries, unfinished: actionsFrom(unfinished) },
    () => `the audit log is intact: ${entries} lines${open}`,
  );
}
