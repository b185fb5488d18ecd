import type { UpstreamAgent, UpstreamDialect } from "../../agents/chat/upstream.js";
import type { Usable } from "../keys/rights.js";

export interface ServedAgent extends UpstreamAgent {
  host: string;
  name: string;
  /** The model that callers ask for: its name, with its host when several agents have that name. */
  word: string;
  /** Seconds since 1970. */
  created: number;
  /** The type of its provider, and the model; empty when none was chosen. */
  provider?: string | undefined;
  model: string;
  dialect: UpstreamDialect;
  proxy?: ServedProxy | undefined;
  /** Changes with the host's address, the agent's port, its key and anything else that a connection to it depends on. */
  mark?: string;
}

export interface ServedProxy {
  provider: string;
  /** As callers ask for them: `/v1/embeddings`. */
  paths: readonly string[];
  /** Bytes of a request that it reads. */
  maxBodyBytes: number;
}

/** The agent, or the model of its proxy, that a caller's `model` names. */
export interface ModelTarget {
  agent: ServedAgent;
  /** A model of the agent's proxy; undefined for the agent itself. */
  proxied?: string;
}

const proxyPart = "/proxy/";

export class Directory {
  readonly #byWord = new Map<string, ServedAgent>();

  constructor(readonly agents: readonly ServedAgent[]) {
    for (const agent of agents) this.#byWord.set(`${agent.host}/${agent.name}`, agent).set(agent.word, agent);
  }

  namesakes(name: string): readonly ServedAgent[] {
    return this.agents.filter((agent) => agent.name === name);
  }

  /** `agent`, `host/agent`, or one of them with `/proxy/MODEL`; a model's name may have slashes too. */
  find(word: string): ModelTarget | undefined {
    const agent = this.#byWord.get(word);
    if (agent) return { agent };
    for (let at = word.indexOf(proxyPart); at > 0; at = word.indexOf(proxyPart, at + 1)) {
      const before = this.#byWord.get(word.slice(0, at));
      const proxied = word.slice(at + proxyPart.length);
      if (before?.proxy && proxied !== "") return { agent: before, proxied };
    }
    return undefined;
  }
}

export const usableOf = ({ agent: { host, name }, proxied }: ModelTarget): Usable => ({
  host,
  name,
  proxied: proxied !== undefined,
});

/** The name of a target in the audit log and for allowances. */
export const targetOf = ({ agent: { host, name }, proxied }: ModelTarget): string =>
  `${host}/${name}${proxied === undefined ? "" : "/proxy"}`;

export function usableIn(target: string): Usable {
  const [host = "", name = "", proxy] = target.split("/");
  return { host, name, proxied: proxy !== undefined };
}

export const proxiedWord = ({ word }: ServedAgent, model: string): string => `${word}${proxyPart}${model}`;
