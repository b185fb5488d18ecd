import { readAll } from "../async/read-all.js";
import { waitFor } from "../async/wait.js";
import { responseTo } from "../remote/http.js";
import { objectFrom } from "../text/json-object.js";
import { type Directory, proxiedWord, type ServedAgent, usableOf } from "./exchange/directory.js";
import type { GatewayParts } from "./exchange/gateway-parts.js";
import { mayUse } from "./keys/rights.js";
import type { GatewayKey } from "./request/gateway-key.js";
import type { UpstreamPool } from "./upstream-pool/upstream-pool.js";

// Milliseconds. A proxy that does not answer in time is left out.
const maxAge = 60_000;
const timeout = 2000;
const maxBytes = 1 << 20;

/** The models that keys may use: agents, and the models their proxies list, which are remembered for a minute. */
export class Models {
  readonly #known = new Map<string, { at: number; mark: string | undefined; ids: Promise<string[]> }>();

  constructor(private readonly parts: Pick<GatewayParts, "upstreamPool">) {}

  async list({ agents }: Directory, key: GatewayKey) {
    const all = agents.map(async (agent) => {
      const proxied = agent.proxy && mayUse(key, { ...agent, proxied: true }) ? await this.#proxiedBy(agent) : [];
      const own = mayUse(key, agent) ? [agent.word] : [];
      return [...own, ...proxied.map((id) => proxiedWord(agent, id))].map((id) => model(id, agent));
    });
    return (await Promise.all(all)).flat();
  }

  async find(fleet: Directory, key: GatewayKey, id: string) {
    const found = fleet.find(id);
    if (!found || !mayUse(key, usableOf(found))) return undefined;
    const { agent, proxied } = found;
    if (proxied !== undefined && !(await this.#proxiedBy(agent)).includes(proxied)) return undefined;
    return model(id, agent);
  }

  #proxiedBy({ host, name, mark, dialect: { idleTimeout } }: ServedAgent): Promise<string[]> {
    const key = `${host}/${name}`;
    const known = this.#known.get(key);
    if (known && known.mark === mark && Date.now() - known.at < maxAge) return known.ids;
    const signal = AbortSignal.timeout(timeout);
    const pool = this.parts.upstreamPool({ host, name, proxy: true, mark, idleTimeout });
    // Not longer than the timeout, although a connection to a host that is gone may take longer to end.
    const ids = waitFor(askProxy(pool, signal), { signal }).catch(() => {
      this.#known.delete(key);
      return [];
    });
    this.#known.set(key, { at: Date.now(), mark, ids });
    return ids;
  }
}

/** As in OpenAI's list. */
const model = (id: string, { created }: ServedAgent) => ({ id, object: "model", created, owned_by: "clm" });

async function askProxy(pool: UpstreamPool, signal: AbortSignal): Promise<string[]> {
  const connection = await pool.take(signal);
  const headers = { host: connection.authority };
  const answer = await responseTo({ agent: connection, path: "/v1/models", headers, signal });
  const body = await readAll(answer, { signal, maxBytes, tooMuch: () => new Error("the list is too long") });
  const list = objectFrom<{ data?: { id?: unknown }[] }>(body.toString());
  if (answer.statusCode !== 200 || !Array.isArray(list?.data)) throw new Error("the proxy lists no models");
  return list.data.flatMap((each) => (typeof each?.id === "string" ? [each.id] : []));
}
