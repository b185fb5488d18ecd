import { createHash } from "node:crypto";
import { loadType } from "../../agents/manifest/registry.js";
import { proxyOf } from "../../agents/plan/proxy.js";
import { resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { agentType } from "../../agents/type.js";
import { asFault } from "../../errors.js";
import { Directory, type ServedAgent } from "../../gateway/exchange/directory.js";
import { type Agent, agentsOf, hostAndName, secretOwner } from "../../state/agents.js";
import { modelOf, type Providers } from "../../state/providers.js";
import type { Session } from "../session.js";
import { reloadOnChange } from "./reload-on-change.js";

/** The agents to serve, by hosts.json, providers.json and secrets.json as they are now. */
export function servedFleet(session: Session): Promise<() => Directory | Promise<Directory>> {
  const { hosts, providers, secrets, ui } = session;
  const warned = new Set<string>();
  return reloadOnChange({
    paths: () => [hosts, providers, secrets].map(({ path }) => path),
    read: () => readFleet(session, warned),
    onError: (why) => ui.warn(`the gateway keeps serving the agents it knew: ${why}`),
  });
}

async function readFleet(session: Session, warned: Set<string>): Promise<Directory> {
  const agents = agentsOf(session.hosts.read()).filter(({ record }) => record.status === "installed");
  const providers = session.providers.read();
  const all = await Promise.all(
    agents.map((agent) =>
      served(session, agent, providers).catch((error) => {
        // An agent whose type is gone, for example, must not stop the others from being served.
        const warning = `the gateway does not serve ${hostAndName(agent)}: ${asFault(error).message}`;
        if (!warned.has(warning)) session.ui.warn(warning);
        warned.add(warning);
        return undefined;
      }),
    ),
  );
  return new Directory(all.filter((agent) => agent !== undefined));
}

/** Undefined for an agent of a type that the gateway cannot serve. */
async function served(
  { configDir, secrets }: Session,
  agent: Agent,
  providers: Providers,
): Promise<ServedAgent | undefined> {
  const { name, host, ref, record } = agent;
  const { manifest } = await loadType(configDir, record.type);
  const dialect = await (await agentType(manifest)).upstream?.();
  if (!dialect) return undefined;
  const resolved = resolvedAgent(manifest, agent);
  const proxy = proxyOf(resolved);
  const key = manifest.api.secret ? secrets.get(secretOwner(agent), manifest.api.secret) : undefined;
  const connection = [
    host.address,
    host.port,
    host.user,
    resolved.unit,
    resolved.port,
    proxy?.unit,
    proxy?.port,
    proxy?.provider,
    key?.reveal(),
  ];
  return {
    host: host.name,
    name,
    word: ref,
    created: Math.floor(Date.parse(record.installed_at ?? host.added_at) / 1000) || 0,
    provider: providers.providers[record.provider ?? ""]?.type,
    model: modelOf(providers, record) ?? "",
    dialect,
    ...dialect.agent(resolved),
    proxy: proxy && {
      provider: proxy.provider,
      paths: proxy.paths.map((path) => `/v1${path}`),
      maxBodyBytes: proxy.maxBodyBytes,
    },
    mark: createHash("sha256").update(JSON.stringify(connection)).digest("base64"),
  };
}
