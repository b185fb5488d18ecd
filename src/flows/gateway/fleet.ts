import { createHash } from "node:crypto";
import { proxyOf } from "../../agents/proxy/proxy.js";
import { loadType } from "../../agents/registry.js";
import { subjectOf } from "../../agents/subject.js";
import { asFault } from "../../errors.js";
import { Directory, type Served } from "../../gateway/directory.js";
import { type Agent, agentsOf, fullName, instanceOf } from "../../state/agents.js";
import { modelOf, type Providers } from "../../state/providers.js";
import { stampOf } from "../../state/state-file.js";
import type { Session } from "../session.js";

// Milliseconds for which the files are not looked at again.
const moment = 100;

/** The agents that can be asked, read anew when hosts.json, providers.json or secrets.json is another file than it was. */
export async function servedFleet(session: Session): Promise<() => Directory | Promise<Directory>> {
  const { hosts, providers, secrets } = session;
  const stamp = () => stampOf([hosts, providers, secrets].map(({ path }) => path));
  let seen = stamp();
  let lookedAt = Date.now();
  const leftOut = new Set<string>();
  const read = () => readFleet(session, leftOut);
  let known = await read();
  let reading: Promise<Directory> | undefined;
  let told = "";

  async function again(): Promise<Directory> {
    try {
      known = await read();
      told = "";
    } catch (error) {
      // Somebody is at it with an editor, perhaps; what was known a moment ago is better than nothing. The next one looks again.
      seen = "";
      const { message } = asFault(error);
      if (message !== told) session.ui.warn(`the gateway goes on with the agents it knew: ${message}`);
      told = message;
    } finally {
      reading = undefined;
    }
    return known;
  }

  return () => {
    if (reading) return reading;
    const now = Date.now();
    if (Math.abs(now - lookedAt) < moment) return known;
    lookedAt = now;
    const stamped = stamp();
    if (stamped === seen) return known;
    seen = stamped;
    reading = again();
    return reading;
  };
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
    failures: manifest.api.chat.failures,
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
