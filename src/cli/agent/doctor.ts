import { doctorAgents } from "../../flows/doctor/doctor.js";
import type { Handler } from "../command.js";
import { report } from "../doctor/doctor.js";
import { chooseAgents } from "../run-on-agents.js";
import type { doctor } from "./commands.js";

export const run: Handler<typeof doctor> = async ({ args, options }, clm) => {
  const { fix, parallel, verbose } = options;
  const agents = chooseAgents(clm, args.names, options);
  const diagnosis = await clm.withSession((session) => doctorAgents(session, agents, { fix, parallel }));
  return report(clm, diagnosis, { verbose });
};
