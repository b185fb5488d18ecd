import { createHash, randomBytes } from "node:crypto";
import { render } from "../../agents/hermes/rendering.js";
import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { inParallel } from "../../async/limit.js";
import { asFault, Fault } from "../../errors.js";
import { type Agent, agentId, agentsOf, secretOwner } from "../../state/agents.js";
import { defined } from "../../text/defined.js";
import { answersFor } from "../agent/answers.js";
import type { Session } from "../session.js";
import { type Difference, differences } from "./compare/differences.js";
import { observeImported } from "./compare/observe.js";

export interface Compared {
  /** `wolf-i:hermes:hermes-test`. */
  agent: string;
  host: string;
  id: Difference["id"] | "host" | "rendering" | "same";
  differs: string;
  fix?: string;
}

/** All at once. An unreachable host gives a row too. */
export async function compareAgents(session: Session, hosts: string[]): Promise<Compared[]> {
  const agents = agentsOf(session.hosts.read()).filter(({ host }) => hosts.includes(host.name));
  return (await inParallel(agents, 32, (agent) => compareAgent(session, agent))).flat();
}

async function compareAgent(session: Session, agent: Agent): Promise<Compared[]> {
  const { host, name } = agent;
  const title = agentId(agent);
  const row = (id: Compared["id"], differs: string, fix?: string): Compared =>
    defined({ agent: title, host: host.name, id, differs, fix });
  try {
    const { manifest } = await loadType(session.configDir, agent.record.type);
    const resolved = resolvedAgent(manifest, agent);
    const salt = randomBytes(16).toString("hex");
    const root = (await session.pool.connect(host)).as("root");
    const state = await observeImported(root, resolved, salt, session.signal);
    const { variables, trouble } = await wouldSet(session, resolved, agent);
    const key = manifest.api.secret && session.secrets.get(secretOwner(agent), manifest.api.secret);
    const samePort = Object.entries(host.agents).filter(
      ([other, record]) => other !== name && record.port === agent.record.port,
    );
    const found = differences(resolved, state, {
      key: key && createHash("sha256").update(`${salt}${key.reveal()}`).digest("hex"),
      samePort: samePort.map(([other]) => other),
      variables,
    });
    const rows = found.map(({ id, differs, fix }) => row(id, differs, fix));
    if (trouble) rows.push(row("rendering", trouble.message, trouble.next[0] ?? `clm agent configure ${agent.ref}`));
    return rows.length > 0 ? rows : [row("same", "nothing")];
  } catch (error) {
    session.signal.throwIfAborted();
    const { message, next } = asFault(error);
    return [row("host", `could not be checked: ${message}`, next[0] ?? `clm host check ${host.name}`)];
  }
}

/** The variables clm would write to `.env`, or why that is not known yet. */
async function wouldSet(
  session: Session,
  resolved: ResolvedAgent,
  { record }: Agent,
): Promise<{ variables?: string[]; trouble?: Fault }> {
  try {
    return { variables: [...render(resolved, (await answersFor(session, resolved, record)).answers).env.keys()] };
  } catch (error) {
    if (error instanceof Fault && error.fault !== "interrupted") return { trouble: error };
    throw error;
  }
}
