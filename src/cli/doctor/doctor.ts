import { doctorAll } from "../../flows/doctor/doctor.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { doctor } from "./commands.js";
import { report } from "./report.js";

export const run: Handler<typeof doctor> = async ({ options }, clm) => {
  const { fix, parallel, verbose } = options;
  const diagnosis = await withSession(clm, (session) => doctorAll(session, { fix, parallel }));
  return report(clm, diagnosis, { verbose });
};
