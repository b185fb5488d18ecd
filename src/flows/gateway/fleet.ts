import { createHash } from "node:crypto";
import { failureForms } from "../../agents/chat/failure-forms.js";
import { streamsText } from "../../agents/hermes/codex/runtime.js";
import { loadType } from "../../agents/manifest/registry.js";
import { resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { proxyOf } from "../../agents/proxy/proxy.js";
import { asFault } from "../../errors.js";
import { Directory, type ServedAgent } from "../../gateway/directory.js";
import { type Agent, agentsOf, hostAndName, secretOwner } from "../../state/agents.js";
import { modelOf, type Providers } from "../../state/providers.js";
import type { Session } from "../session.js";
import { reloadOnChange } from "./reload-on-change.js";

/** The agents that can be asked, by hosts.json, providers.json and secrets.json as they are now. */
export function servedFleet(session: Session): Promise<() => Directory | Promise<Directory>> {
  const { hosts, providers, secrets, ui } = session;
  const leftOut = new Set<string>();
  return reloadOnChange({
    paths: () => [hosts, providers, secrets].map(({ path }) => path),
    read: () => readFleet(session, leftOut),
    trouble: (why) => ui.warn(`the gateway goes on with the agents it knew: ${why}`),
  });
}

async function readFleet(session: Session, leftOut: Set<string>): Promise<Directory> {
  const agents = agentsOf(session.hosts.read()).filter(({ record }) => record.status === "installed");
  const providers = session.providers.read();
  const all = await Promise.all(
    agents.map((agent) =>
      served(session, agent, providers).catch((error) => {
        // One that clm cannot make sense of, because its type is gone say, keeps nobody from the others.
        const why = `the gateway leaves ${hostAndName(agent)} out: ${asFault(error).message}`;
        if (!leftOut.has(why)) session.ui.warn(why);
        leftOut.add(why);
        return [];
      }),
    ),
  );
  return new Directory(all.flat());
}

async function served({ configDir, secrets }: Session, agent: Agent, providers: Providers): Promise<ServedAgent> {
  const { name, host, ref, record } = agent;
  const { manifest } = await loadType(configDir, record.type);
  const resolved = resolvedAgent(manifest, agent);
  const proxy = proxyOf(resolved);
  const key = secrets.get(secretOwner(agent), manifest.api.secret);
  const way = [
    host.address,
    host.port,
    host.user,
    resolved.unit,
    resolved.port,
    proxy?.unit,
    proxy?.port,
    record.proxy?.provider,
    key?.reveal(),
  ];
  return {
    ...{ host: host.name, name, word: ref },
    created: Math.floor(Date.parse(record.installed_at ?? host.added_at) / 1000) || 0,
    provider: providers.providers[record.provider ?? ""]?.type,
    model: modelOf(providers, record) ?? "",
    failures: failureForms(manifest),
    ...(!streamsText(resolved) && { streamless: true }),
    mark: createHash("sha256").update(JSON.stringify(way)).digest("base64"),
    ...(proxy && {
      proxy: {
        provider: proxy.provider,
        paths: proxy.paths.map((path) => `/v1${path}`),
        largest: proxy.largest,
      },
    }),
  };
}
