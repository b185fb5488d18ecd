import { Fault } from "../../errors.js";
import { forgetHost } from "../../flows/host/forget.js";
import type { Session } from "../../flows/session.js";
import { findHost, type Host } from "../../state/hosts.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args: { name }, options: { forget } }, clm) => {
  await clm.withSession(async (session) => {
    const host = findHost(session.hosts.read().hosts, name);
    const agents = Object.keys(host.agents);
    if (!forget) mustHaveNoAgents(host, agents);
    const action = {
      verb: "host remove",
      target: name,
      summary: `forget host ${name}`,
      question: `Forget host ${name} (${host.address})${agents.length > 0 ? ` and its agents ${agents.join(", ")}` : ""}?`,
    };
    await session.gate.pass(action, () => forgetHost(session, name));
    if (clm.dryRun) printAgents(session, host);
  });
  if (!clm.dryRun) clm.ui.note(`removed ${name} from clm; nothing was changed on the host`);
};

function printAgents({ ui, secrets }: Session, host: Host): void {
  for (const [agent, { type }] of Object.entries(host.agents)) {
    const names = secrets.names({ host: host.name, type, agent });
    ui.note(`would forget agent ${agent}${names.length > 0 ? ` and its secrets ${names.join(", ")}` : ""}`);
  }
}

function mustHaveNoAgents({ name }: Host, agents: string[]): void {
  if (agents.length === 0) return;
  throw new Fault("in-use", `${name} still has ${agents.length === 1 ? "an agent" : "agents"}: ${agents.join(", ")}`, {
    why: "they would keep running, and clm would no longer manage them",
    next: `clm host remove ${name} --forget   # only if the machine is gone for good`,
  });
}
