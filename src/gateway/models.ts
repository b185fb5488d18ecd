import { type IncomingMessage, request } from "node:http";
import { completionFrom } from "../agents/chat/completion.js";
import { waitFor } from "../wait.js";
import { type Directory, proxiedWord, type Served, usableOf } from "./directory.js";
import type { GatewayKey } from "./keys/key.js";
import type { Parts } from "./parts.js";
import type { Lane } from "./road/lane.js";

/** As OpenAI lists it. */
export interface Model {
  id: string;
  object: "model";
  created: number;
  owned_by: "clm";
}

export interface Models {
  /** What a key may use, agents first, each followed by what its proxy has. */
  list(fleet: Directory, key: GatewayKey): Promise<Model[]>;
  find(fleet: Directory, key: GatewayKey, id: string): Promise<Model | undefined>;
}

// Milliseconds. A proxy that does not answer in time is left out.
const holds = 60_000;
const patience = 2000;

export function modelsOf({ mayUse, road }: Pick<Parts, "mayUse" | "road">): Models {
  const known = new Map<string, { at: number; mark: string | undefined; ids: Promise<string[]> }>();

  function proxiedBy({ host, name, mark }: Served): Promise<string[]> {
    const key = `${host}/${name}`;
    const before = known.get(key);
    if (before && before.mark === mark && Date.now() - before.at < holds) return before.ids;
    // A lane to a host that is gone may take long to end: nobody waits for that.
    const signal = AbortSignal.timeout(patience);
    const ids = waitFor(askProxy(road({ host, name, proxy: true, mark }), signal), { signal }).catch(() => {
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

const model = (id: string, { created }: Served): Model => ({ id, object: "model", created, owned_by: "clm" });

async function askProxy(road: ReturnType<Parts["road"]>, signal: AbortSignal): Promise<string[]> {
  const answer = await answerFrom(await road.take(signal), signal);
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  const said = completionFrom(Buffer.concat(chunks).toString()) as { data?: { id?: unknown }[] } | undefined;
  if (answer.statusCode !== 200 || !Array.isArray(said?.data)) throw new Error("it lists no models");
  return said.data.flatMap((each) => (typeof each?.id === "string" ? [each.id] : []));
}

const answerFrom = (lane: Lane, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((done, failed) => {
    const asked = request({ agent: lane, path: "/v1/models", headers: { host: lane.authority }, signal });
    asked.once("response", done).on("error", failed).end();
  });
