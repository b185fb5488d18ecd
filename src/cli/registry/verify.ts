import { faults } from "../../errors.js";
import { type Verified, verifyRegistry } from "../../flows/registry/verify.js";
import { withSession } from "../../flows/session.js";
import type { Handler, View } from "../command.js";
import type { verify } from "./commands.js";

const view: View<Verified> = {
  columns: [
    { title: "type", value: (row) => row.type, whole: true },
    { title: "version", value: (row) => row.version, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    { title: "seen", value: (row) => (row.result === "fail" ? "see below" : row.reason) },
  ],
  details: (row) => (row.result === "fail" ? [`${row.type} ${row.version}: ${row.reason}`] : []),
  name: ({ type, version }) => `${type} ${version}`,
};

export const run: Handler<typeof verify> = async ({ args, options }, clm) => {
  const rows = await withSession(clm, (session) => verifyRegistry(session, { ...args, ...options }));
  clm.list(rows, view);
  // Bytes that differ are worse than bytes that did not come, and have the higher code.
  return Math.max(0, ...rows.map(({ fault }) => (fault ? faults[fault].exit : 0)));
};
