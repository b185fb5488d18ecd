import { createHash, randomBytes } from "node:crypto";
import { render } from "../../agents/hermes/rendering.js";
import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { inParallel } from "../../async/limit.js";
import { asFault, Fault } from "../../errors.js";
import { type Agent, agentId, agentsOf, secretOwner } from "../../state/agents.js";
import { answersFor } from "../agent/answers.js";
import type { Session } from "../session.js";
import { type Difference, differences } from "./compare/differences.js";
import { observeImported } from "./compare/observe.js";

export interface Compared extends Difference {
  /** `wolf-i:hermes:hermes-test`. */
  agent: string;
  host: string;
}

/** All at once. An unreachable host gives a row too. */
export async function compareAgents(session: Session, hosts: string[]): Promise<Compared[]> {
  const agents = agentsOf(session.hosts.read()).filter(({ host }) => hosts.includes(host.name));
  const compared = await inParallel(agents, 32, async (agent) => {
    const found = await compareAgent(session, agent);
    return found.map((each) => ({ agent: agentId(agent), host: agent.host.name, ...each }));
  });
  return compared.flat();
}

async function compareAgent(session: Session, agent: Agent): Promise<Difference[]> {
  const { host, name, record } = agent;
  try {
    const { manifest } = await loadType(session.configDir, record.type);
    const resolved = resolvedAgent(manifest, agent);
    const salt = randomBytes(16).toString("hex");
    const root = (await session.pool.connect(host)).as("root");
    const state = await observeImported(root, resolved, salt, session.signal);
    const variables = await wouldSet(session, resolved, agent);
    const key = manifest.api.secret && session.secrets.get(secretOwner(agent), manifest.api.secret);
    const samePort = Object.entries(host.agents).filter(([other, { port }]) => other !== name && port === record.port);
    const found = differences(resolved, state, {
      key: key && createHash("sha256").update(`${salt}${key.reveal()}`).digest("hex"),
      samePort: samePort.map(([other]) => other),
      variables: variables instanceof Fault ? undefined : variables,
    });
    if (variables instanceof Fault) {
      const fix = variables.next[0] ?? `clm agent configure ${agent.ref}`;
      found.push({ id: "rendering", differs: variables.message, fix });
    }
    return found.length > 0 ? found : [{ id: "same", differs: "nothing" }];
  } catch (error) {
    session.signal.throwIfAborted();
    const { message, next } = asFault(error);
    return [{ id: "host", differs: `could not be checked: ${message}`, fix: next[0] ?? `clm host check ${host.name}` }];
  }
}

/** The variables clm would write to `.env`, or why that is not known yet. */
async function wouldSet(session: Session, resolved: ResolvedAgent, { record }: Agent): Promise<string[] | Fault> {
  try {
    const { answers } = await answersFor(session, resolved, record);
    return [...render(resolved, answers).env.keys()];
  } catch (error) {
    if (error instanceof Fault && error.fault !== "interrupted") return error;
    throw error;
  }
}
