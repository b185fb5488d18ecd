import type { Manifest } from "../agents/manifest/manifest.js";
import { readRecord, recordedLabs } from "../lab/record.js";
import { byName } from "../names.js";
import { type Agent, agentsOf } from "../state/agents.js";
import { hostStore } from "../state/hosts.js";
import { providerStore } from "../state/providers.js";
import type { NameKind } from "./command.js";
import type { Candidate } from "./complete.js";

export const namesFrom = async (kind: NameKind, configDir: string): Promise<Candidate[]> => {
  switch (kind) {
    case "host":
    case "host-pattern": {
      const { hosts } = hostStore(configDir).read();
      return hosts.toSorted(byName).map(({ name, address }) => ({ word: name, note: address }));
    }
    case "lab":
      return (await recordedLabs()).map((word) => ({ word }));
    case "lab-host": {
      const records = await Promise.all((await recordedLabs()).map((lab) => readRecord(lab)));
      return records.flatMap((lab) => lab?.hosts.map(({ number }) => ({ word: `${lab.name}-${number}` })) ?? []);
    }
    case "agent":
      return agentNames(agentsOf(hostStore(configDir).read()));
    case "provider": {
      const { providers } = providerStore(configDir).read();
      return Object.entries(providers).map(([word, { type }]) => ({ word, note: type }));
    }
    default: {
      // Imported late: it reads manifests.
      const { loadTypes } = await import("../agents/manifest/registry.js");
      return (await loadTypes(configDir)).flatMap(({ manifest }) => inManifest[kind](manifest));
    }
  }
};

const inManifest = {
  "agent-type": ({ type, title }: Manifest): Candidate[] => [{ word: type, note: title }],
  "provider-type": ({ providers }: Manifest) => titles(providers),
  channel: ({ channels }: Manifest) => titles(channels),
  "mcp-server": ({ mcp }: Manifest) => titles(mcp),
  version: ({ versions }: Manifest) =>
    Object.entries(versions).map(([word, { standin, reports }]) => ({ word, note: standin ? "stand-in" : reports })),
  "runtime-version": ({ runtimes }: Manifest) =>
    Object.values(runtimes).flatMap((runtime) => Object.keys(runtime?.versions ?? {}).map((word) => ({ word }))),
  "auxiliary-task": ({ auxiliary }: Manifest) => auxiliary.map(({ name }) => ({ word: `${name}=` })),
  "memory-file": ({ memory }: Manifest) =>
    Object.entries(memory).map(([word, { summary }]) => ({ word, note: summary })),
  "open-field": (manifest: Manifest) => fields(manifest, false),
  "secret-field": (manifest: Manifest) => fields(manifest, true),
};

/** An ambiguous name is offered with its host, as it must be typed. */
function agentNames(agents: Agent[]): Candidate[] {
  const several = (name: string) => agents.filter((agent) => agent.name === name).length > 1;
  return agents.toSorted(byName).map(({ name, host }) => ({
    word: several(name) ? `${host.name}/${name}` : name,
    note: host.name,
  }));
}

const titles = (things: Record<string, { title: string }>): Candidate[] =>
  Object.entries(things).map(([word, { title }]) => ({ word, note: title }));

/** `discord.allowed_users=`, for `--set` and `--secret` of `clm agent configure`. */
const fields = ({ channels, mcp }: Manifest, secret: boolean): Candidate[] =>
  [...Object.entries(channels), ...Object.entries(mcp)].flatMap(([thing, { fields }]) =>
    fields
      .filter((field) => (field.secret !== undefined) === secret)
      .map(({ name, ask }) => ({ word: `${thing}.${name}=`, note: ask })),
  );
