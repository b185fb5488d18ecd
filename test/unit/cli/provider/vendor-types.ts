import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { hostNameFrom } from "../../../../src/names.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { encodings } from "../../../../src/ui/encodings.js";
import type { VendorRequest } from "../../flows/vendor.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { clm } from "../world.js";

export const goodKey = "sk-planted/GOOD+0123456789";
export const newKey = "sk-planted/NEW+9876543210==";

/** What the vendor of type `trial` takes. */
export const takes = (key: string, { headers }: VendorRequest): boolean => headers.authorization === `Bearer ${key}`;

/** Types of providers for tests: `trial`, whose service is at `url`, and `placed`, whose address is a field. */
export function addTypes(dir: string, url: string): void {
  mkdirSync(join(dir, "manifests"), { mode: 0o700, recursive: true });
  writeFileSync(
    join(dir, "manifests", "trial.yaml"),
    `type: hermes
providers:
  trial:
    title: A vendor on trial
    aliases: [tryout]
    fields:
      - { name: api_key, ask: API key, secret: API_KEY, required: true, pattern: "^sk-", means: a key starts with sk- }
      - { name: second, ask: Another key, secret: SECOND }
      - { name: team, ask: Team }
      - { name: region, ask: Region, choices: [eu, us], default: eu }
    render: [{ config: { model: { provider: custom, default: "{{model}}" } } }]
    test: { url: "${url}/{{region}}/key", headers: { Authorization: "Bearer {{api_key}}" } }
  placed:
    title: A vendor with an address
    fields:
      - { name: endpoint, ask: Address, required: true }
      - { name: api_key, ask: API key, secret: API_KEY }
    render: [{ config: { model: { provider: custom, default: "{{model}}" } } }]
    test: { url: "{{v1 endpoint}}/models" }
`,
    { mode: 0o600 },
  );
}

type World = NonNullable<Parameters<typeof clm>[1]>;

/** Runs `clm provider …` in a config directory. */
export const provider = (dir: string, words: string[], world: World & { input?: string } = {}) => {
  const { input, ...rest } = world;
  const stdin = () => {
    const stream = new PassThrough();
    stream.end(input ?? "");
    return stream;
  };
  return clm(["--config-dir", dir, "provider", ...words], { ...(input !== undefined && { stdin }), ...rest });
};

const complete = { result: "complete" as const, at: "2026-01-01T00:00:00.000Z" };
const record = (more: Partial<AgentRecord>) =>
  sampleAgent("a", { onboarding: { state: "ready", stages: { providers: complete, validate: complete } }, ...more });

/** A host whose agents use the provider `main` in every possible way, and one that does not. */
export async function addAgents(dir: string): Promise<void> {
  const agents = {
    first: record({ provider: "main" }),
    falls: record({ provider: "other", fallbacks: [{ provider: "main", model: "m" }] }),
    helps: record({ provider: "other", auxiliary: { vision: { provider: "main" } } }),
    fresh: record({ provider: "main", onboarding: { state: "channels", stages: {} } }),
    alien: record({ provider: "other" }),
  };
  const host = {
    name: hostNameFrom("wolf-i"),
    address: "192.0.2.1",
    labels: {},
    added_at: "2026-01-01T00:00:00.000Z",
    sudo: "passwordless" as const,
  };
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts: [...fleet.hosts, { ...host, agents }] }));
}

export const states = (dir: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(hostStore(dir).read().hosts[0]?.agents ?? {}).map(([name, agent]) => [name, agent.onboarding.state]),
  );

/** The files below a directory in which a secret stands, in any spelling. */
export function filesWith(dir: string, secret: string): string[] {
  const forms = encodings(secret);
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const text = readFileSync(path, "utf8");
      return forms.some((form) => text.includes(form));
    })
    .map((path) => path.slice(dir.length + 1))
    .sort();
}

export const read = (dir: string, file: string) => JSON.parse(readFileSync(join(dir, file), "utf8"));
