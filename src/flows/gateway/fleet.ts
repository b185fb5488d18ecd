import { createHash } from "node:crypto";
import { streamsText } from "../../agents/codex/runtime.js";
import { failureForms } from "../../agents/failure-forms.js";
import { proxyOf } from "../../agents/proxy/proxy.js";
import { loadType } from "../../agents/registry.js";
import { subjectOf } from "../../agents/subject.js";
import { asFault } from "../../errors.js";
import { Directory, type Served } from "../../gateway/directory.js";
import { type Agent, agentsOf, fullName, instanceOf } from "../../state/agents.js";
import { modelOf, type Providers } from "../../state/providers.js";
import type { Session } from "../session.js";
import { live } from "./live.js";

/** The agents that can be asked, by hosts.json, providers.json and secrets.json as they are now. */
export function servedFleet(session: Session): Promise<() => Directory | Promise<Directory>> {
  const { hosts, providers, secrets, ui } = session;
  const leftOut = new Set<string>();
  return live({
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
        const why = `the gateway leaves ${fullName(agent)} out: ${asFault(error).message}`;
        if (!leftOut.has(why)) session.ui.warn(why);
        leftOut.add(why);
        return [];
      }),
    ),
  );
  return new Directory(all.flat());
}

async function served({ configDir, secrets }: Session, agent: Agent, providers: Providers): Promise<Served> {
  const { name, host, word, record } = agent;
  const { manifest } = await loadType(configDir, record.type);
  const subject = subjectOf(manifest, agent);
  const proxy = proxyOf(subject);
  const key = secrets.get(instanceOf(agent), manifest.api.secret);
  const way = [
    host.address,
    host.port,
    host.user,
    subject.unit,
    subject.port,
    proxy?.unit,
    proxy?.port,
    record.proxy?.provider,
    key?.reveal(),
  ];
  return {
    ...{ host: host.name, name, word },
    created: Math.floor(Date.parse(record.installed_at ?? host.added_at) / 1000) || 0,
    provider: providers.providers[record.provider ?? ""]?.type,
    model: modelOf(providers, record) ?? "",
    failures: failureForms(manifest),
    ...(!streamsText(subject) && { streamless: true }),
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
