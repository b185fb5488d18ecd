import { faults } from "../../errors.js";
import type { Check } from "../../flows/host/check.js";
import { testProvider } from "../../flows/provider/test.js";
import { withSession } from "../../flows/session.js";
import type { Handler, View } from "../command.js";
import type { test } from "./commands.js";

interface Row extends Check {
  provider: string;
  /** The host that asked; without it, this machine. */
  host?: string;
}

const view: View<Row> = {
  columns: [
    { title: "provider", value: ({ provider }) => provider, whole: true },
    { title: "from", value: ({ host }) => host ?? "here", whole: true },
    { title: "result", value: ({ result }) => result, whole: true },
    { title: "reason", value: ({ result, reason }) => (result === "ok" ? reason : "see below") },
  ],
  details: ({ provider, result, reason, fix }) =>
    result === "ok" ? [] : [`${provider}: ${reason}`, ...(fix ? [`  fix: ${fix}`] : [])],
  name: ({ provider }) => provider,
};

export const run: Handler<typeof test> = async ({ args, options: { host } }, clm) => {
  const check = await withSession(clm, (session) => testProvider(session, args.name, host));
  clm.list([{ provider: args.name, ...(host && { host }), ...check }], view);
  return check.result === "fail" ? faults["check-failed"].exit : 0;
};
