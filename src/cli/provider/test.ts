import type { Check } from "../../agents/check.js";
import { Fault, faults } from "../../errors.js";
import { isOnAgentHost, tryProvider } from "../../flows/provider/test.js";
import { findType } from "../../flows/provider/types.js";
import { providerValues } from "../../flows/provider/values.js";
import type { Session } from "../../flows/session.js";
import { findHost } from "../../state/hosts.js";
import type { Handler, View } from "../command.js";
import type { test } from "./commands.js";

interface Row extends Check {
  provider: string;
  /** The host the request came from; without it, this machine. */
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
  const check = await clm.withSession((session) => testProvider(session, args.name, host));
  clm.list([{ provider: args.name, ...(host && { host }), ...check }], view);
  return check.result === "fail" ? faults["check-failed"].exit : 0;
};

async function testProvider(session: Session, name: string, hostName?: string): Promise<Check> {
  const host = hostName === undefined ? undefined : findHost(session.hosts.read().hosts, hostName);
  const { type: typeName, values } = await providerValues(session, name);
  const type = await findType(session.configDir, typeName);
  if (!host && isOnAgentHost(type, values)) {
    throw new Fault("needs-answer", `the address of ${name} means the agent's own host`, {
      why: "from this machine it would be a different one; name the host with --host",
      next: `clm provider test ${name} --host HOST`,
      flag: "--host",
    });
  }
  return tryProvider(session, name, type, values, host && (await session.pool.connect(host)));
}
