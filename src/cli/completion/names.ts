import type { Loaded } from "../../agents/manifest/registry.js";
import { readRecord, recordedLabs } from "../../lab/record.js";
import { byName } from "../../names.js";
import { type Agent, agentsOf } from "../../state/agents.js";
import { hostStore } from "../../state/hosts.js";
import { providerStore } from "../../state/providers.js";
import type { Candidate, Names } from "../complete.js";

export const namesFrom = async (kind: Parameters<Names>[0], configDir: string): Promise<Candidate[]> => {
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
    case "provider-type":
      return (await types(configDir)).flatMap(({ manifest }) => titles(manifest.providers));
    case "agent-type":
      return (await types(configDir)).map(({ manifest }) => ({ word: manifest.type, note: manifest.title }));
    case "version": {
      const versions = (await types(configDir)).flatMap(({ manifest }) => Object.entries(manifest.versions));
      return versions.map(([word, { standin, reports }]) => ({ word, note: standin ? "stand-in" : reports }));
    }
    case "codex-version": {
      const versions = (await types(configDir)).flatMap(({ manifest }) =>
        Object.keys(manifest.runtimes.codex?.versions ?? {}),
      );
      return versions.map((word) => ({ word }));
    }
    case "channel":
      return (await types(configDir)).flatMap(({ manifest }) => titles(manifest.channels));
    case "mcp-server":
      return (await types(configDir)).flatMap(({ manifest }) => titles(manifest.mcp));
    case "open-field":
    case "secret-field":
      return fields(await types(configDir), kind === "secret-field");
    case "auxiliary-task":
      return (await types(configDir)).flatMap(({ manifest }) =>
        manifest.auxiliary.map(({ name }) => ({ word: `${name}=` })),
      );
    case "memory-file": {
      const files = (await types(configDir)).flatMap(({ manifest }) => Object.entries(manifest.memory));
      return files.map(([word, { summary }]) => ({ word, note: summary }));
    }
  }
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
function fields(types: Loaded[], secret: boolean): Candidate[] {
  const things = types.flatMap(({ manifest }) => [
    ...Object.entries(manifest.channels),
    ...Object.entries(manifest.mcp),
  ]);
  return things.flatMap(([thing, { fields }]) =>
    fields
      .filter((field) => (field.secret !== undefined) === secret)
      .map(({ name, ask }) => ({ word: `${thing}.${name}=`, note: ask })),
  );
}

/** Imported late: it reads manifests. */
async function types(configDir: string): Promise<Loaded[]> {
  const { loadTypes } = await import("../../agents/manifest/registry.js");
  return loadTypes(configDir);
}
