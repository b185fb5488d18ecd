import { proxyOf } from "../../agents/plan/proxy.js";
import { type StatusObservation, straysFrom } from "../../agents/probe/status/observation.js";
import { straysScript } from "../../agents/probe/status/script.js";
import { Fault, isFault } from "../../errors.js";
import { sh } from "../../quote.js";
import { askHost } from "../../remote/ask-host.js";
import library from "../../remote/operations/library/processes.sh?raw";
import { type Operation, run } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { resolve } from "./target.js";

/** In one exec. */
export async function straysOf(session: Session, root: Shell, agent: Agent): Promise<StatusObservation["strays"]> {
  const { user, unit } = agent.record;
  const proxy = await proxyUnitOf(session, agent);
  const asking = { host: agent.host.name, what: `the processes of ${user}`, timeout: 30_000, signal: session.signal };
  const { count, first } = await askHost(root, straysScript(user, [unit, ...proxy]), asking, straysFrom);
  return { count, first: first.map((each) => ({ ...each, command: session.ui.redact(each.command) })) };
}

/** In one pass: a list would be outdated before the kill. Restarts its proxy; `clm agent exec` commands end too. */
export async function endStrays(session: Session, agent: Agent): Promise<Operation> {
  const { user, mark } = agent.record;
  // The account of an adopted agent may be a person's, with their own work in it.
  if (mark === undefined) {
    throw new Fault("unsupported", `the account ${user} on ${agent.host.name} was not made by clm`, {
      why: "other processes of that account may belong to a person; nothing was stopped",
      next: `clm agent status ${agent.ref}`,
    });
  }
  const [proxy = ""] = await proxyUnitOf(session, agent);
  const script = `${library}
proxy=${sh`${proxy}`}
if [ -n "$proxy" ] && systemctl is-active --quiet "$proxy"; then systemctl stop "$proxy"; else proxy=; fi
end_processes ${sh`"$(id -u ${user})" "$(id -g ${user})"`} || { echo 'some of its processes do not end' >&2; exit 1; }
[ -z "$proxy" ] || systemctl start "$proxy"`;
  return run({ title: `end the processes of ${user}`, script, timeout: 60_000 });
}

/** None when the type is unknown: such an agent can still be stopped. */
async function proxyUnitOf(session: Session, agent: Agent): Promise<string[]> {
  if (!agent.record.proxy) return [];
  try {
    const unit = proxyOf(await resolve(session, agent))?.unit;
    return unit ? [unit] : [];
  } catch (error) {
    if (isFault(error)) return [];
    throw error;
  }
}
