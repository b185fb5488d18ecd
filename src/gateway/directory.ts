import type { FailureForms } from "../agents/chat/failure.js";
import type { Usable } from "./keys/rights.js";

/** An agent that can be asked, as far as the door must know it. */
export interface ServedAgent {
  host: string;
  name: string;
  /** How it is listed: with its host, when the name alone would mean several. */
  word: string;
  /** Seconds since 1970. */
  created: number;
  /** The type of its provider, and the model that one runs; empty when none was chosen. */
  provider?: string | undefined;
  model: string;
  /** How it words a failed model call. */
  failures: FailureForms;
  /** Its streams have no text, and its whole answers do. */
  streamless?: boolean;
  proxy?: ServedProxy;
  /** Another one when its host's address, its port, its key or anything else on the way to it is another. */
  mark?: string;
}

/** The proxy beside an agent. */
export interface ServedProxy {
  provider: string;
  /** As the gateway's: `/v1/embeddings`. */
  paths: readonly string[];
  /** Bytes of a request that it reads. */
  largest: number;
}

/** What a caller's `model` means. */
export interface ModelTarget {
  agent: ServedAgent;
  /** A model of the agent's proxy; without it the agent itself is meant. */
  proxied?: string;
}

const proxyPart = "/proxy/";

/** The agents of one moment, and what they are called. */
export class Directory {
  readonly #byWord = new Map<string, ServedAgent>();
  readonly #byName = new Map<string, ServedAgent[]>();

  constructor(readonly agents: readonly ServedAgent[]) {
    for (const agent of agents) this.#byWord.set(`${agent.host}/${agent.name}`, agent).set(agent.word, agent);
    for (const agent of agents) this.#byName.set(agent.name, [...(this.#byName.get(agent.name) ?? []), agent]);
  }

  /** Those of a name that means several of them, and so none. */
  namesakes(word: string): readonly ServedAgent[] {
    return this.#byName.get(word) ?? [];
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

/** What a key must be allowed to use. */
export const usableOf = ({ agent: { host, name }, proxied }: ModelTarget): Usable => ({
  ...{ host, name, proxied: proxied !== undefined },
});

/** What the audit log and an allowance call it. */
export const targetOf = ({ agent: { host, name }, proxied }: ModelTarget): string =>
  `${host}/${name}${proxied === undefined ? "" : "/proxy"}`;

/** What a target means, when all that is known of it is what it is called. */
export function usableIn(target: string): Usable {
  const [host = "", name = "", proxy] = target.split("/");
  return { host, name, proxied: proxy !== undefined };
}

/** How a proxied model is listed and asked for. */
export const proxiedWord = ({ word }: ServedAgent, model: string): string => `${word}${proxyPart}${model}`;
