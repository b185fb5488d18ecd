import { completionFrom } from "../agents/chat/completion.js";
import { waitFor } from "../async/wait.js";
import { responseTo } from "../remote/http.js";
import { type Directory, proxiedWord, type ServedAgent, usableOf } from "./directory.js";
import type { GatewayParts } from "./gateway-parts.js";
import type { GatewayKey } from "./keys/key.js";
import type { UpstreamPool } from "./upstream-pool/upstream-pool.js";

/** As in OpenAI's list. */
export interface Model {
  id: string;
  object: "model";
  created: number;
  owned_by: "clm";
}

export interface Models {
  /** The models that a key may use: each agent, followed by those of its proxy. */
  list(fleet: Directory, key: GatewayKey): Promise<Model[]>;
  find(fleet: Directory, key: GatewayKey, id: string): Promise<Model | undefined>;
}

// Milliseconds. A proxy that does not answer in time is left out.
const maxAge = 60_000;
const timeout = 2000;

export function modelsOf({ mayUse, upstreamPool }: Pick<GatewayParts, "mayUse" | "upstreamPool">): Models {
  const known = new Map<string, { at: number; mark: string | undefined; ids: Promise<string[]> }>();

  function proxiedBy({ host, name, mark, dialect: { idleTimeout } }: ServedAgent): Promise<string[]> {
    const key = `${host}/${name}`;
    const before = known.get(key);
    if (before && before.mark === mark && Date.now() - before.at < maxAge) return before.ids;
    const signal = AbortSignal.timeout(timeout);
    const pool = upstreamPool({ host, name, proxy: true, mark, idleTimeout });
    // Not longer than the timeout, although a connection to a host that is gone may take longer to end.
    const ids = waitFor(askProxy(pool, signal), { signal }).catch(() => {
      known.delete(key);
      return [];
    });
    known.set(key, { at: Date.now(), mark, ids });
    return ids;
  }

  return {
    async list({ agents }, key) {
      const all = await Promise.all(
        agents.map(async (agent) => {
          const isLent = agent.proxy && mayUse(key, { ...agent, proxied: true });
          const proxied = isLent ? await proxiedBy(agent) : [];
          const own = mayUse(key, agent) ? [agent.word] : [];
          return [...own, ...proxied.map((id) => proxiedWord(agent, id))].map((id) => model(id, agent));
        }),
      );
      return all.flat();
    },
    async find(fleet, key, id) {
      const found = fleet.find(id);
      if (!found || !mayUse(key, usableOf(found))) return undefined;
      const { agent, proxied } = found;
      if (proxied !== undefined && !(await proxiedBy(agent)).includes(proxied)) return undefined;
      return model(id, agent);
    },
  };
}

const model = (id: string, { created }: ServedAgent): Model => ({ id, object: "model", created, owned_by: "clm" });

async function askProxy(pool: UpstreamPool, signal: AbortSignal): Promise<string[]> {
  const connection = await pool.take(signal);
  const headers = { host: connection.authority };
  const answer = await responseTo({ agent: connection, path: "/v1/models", headers, signal });
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  const said = completionFrom(Buffer.concat(chunks).toString()) as { data?: { id?: unknown }[] } | undefined;
  if (answer.statusCode !== 200 || !Array.isArray(said?.data)) throw new Error("the proxy lists no models");
  return said.data.flatMap((each) => (typeof each?.id === "string" ? [each.id] : []));
}
