import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { leavesOf } from "../../../../src/agents/files/tree.js";
import { render } from "../../../../src/agents/hermes/rendering.js";
import type { Values } from "../../../../src/agents/manifest/fields.js";
import type { Field, Manifest } from "../../../../src/agents/manifest/manifest.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { inRange } from "../../../../src/agents/manifest/versions.js";
import {
  type Answers,
  type ModelChoice,
  pathsFor,
  type ResolvedAgent,
} from "../../../../src/agents/plan/resolved-agent.js";
import { Fault } from "../../../../src/errors.js";
import { Secret } from "../../../../src/secret.js";

const apiKey = "0123456789abcdef".repeat(4);

/** Stand-ins come from an overlay, as the lab's do. */
let dir: string;
let manifest: Manifest;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "clm-rendering-"));
  mkdirSync(join(dir, "manifests"));
  const installer = { url: "file:///i.sh", size: 1, sha256: "a".repeat(64) };
  const versions = { "2026.5.7+standin": { reports: "0.13.0", installer, standin: true } };
  writeFileSync(join(dir, "manifests", "lab.yaml"), JSON.stringify({ type: "hermes", versions }));
  manifest = (await loadType(dir, "hermes")).manifest;
});
afterAll(() => rmSync(dir, { recursive: true }));

type Flat = Record<string, string>;

interface Case {
  name: string;
  versions: string[];
  given?: Flat;
  fallbacks?: Flat[];
  auxiliary?: Record<string, Flat>;
  channels?: Record<string, Flat>;
  mcp?: Record<string, { values: Flat; server?: Record<string, unknown> }>;
  extra?: Flat;
  env?: Flat;
  absent?: string[];
  config?: Record<string, unknown>;
  fault?: string;
  why?: string;
}

const cases = (file: string): [string, string, Case][] =>
  (parse(readFileSync(`test/cases/render/${file}.yaml`, "utf8")) as Case[]).flatMap((each) =>
    each.versions.map((version): [string, string, Case] => [version, each.name, each]),
  );

function valuesOf(fields: Field[], flat: Flat): Values {
  const secrets = new Set(fields.filter(({ secret }) => secret).map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(flat).map(([name, value]) => [name, secrets.has(name) ? new Secret(value) : value]),
  );
}

function choiceOf(from: Manifest, { name, type = "", model = "", ...flat }: Flat): ModelChoice {
  const found = Object.entries(from.providers).find(([each, { aliases }]) => each === type || aliases.includes(type));
  return { provider: name ?? "main", type, model, values: valuesOf(found?.[1].fields ?? [], flat) };
}

const openrouter: Flat = { type: "openrouter", model: "m", api_key: "sk-or-1" };

function answersOf(from: Manifest, each: Partial<Case>): Answers {
  const map = <In, Out>(values: Record<string, In> | undefined, change: (value: In, name: string) => Out) =>
    Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, change(value, name)]));
  return {
    apiKey: new Secret(apiKey),
    model: choiceOf(from, each.given ?? openrouter),
    fallbacks: (each.fallbacks ?? []).map((flat) => choiceOf(from, flat)),
    auxiliary: map(each.auxiliary, (flat) => choiceOf(from, flat)),
    channels: map(each.channels, (flat, name) => valuesOf(from.channels[name]?.fields ?? [], flat)),
    mcp: map(each.mcp, ({ values, server }, name) => ({
      values: valuesOf(from.mcp[name]?.fields ?? [], values),
      ...(server && { server }),
    })),
    extra: map(each.extra, (value) => new Secret(value)),
    settings: {},
    uploads: [],
  };
}

function subjectFor(from: Manifest, version: string): ResolvedAgent {
  const release = from.versions[version];
  if (!release) throw new Error(`no version ${version}`);
  const places = pathsFor(from, "wolf");
  const names = { host: "den", name: "wolf", ref: "wolf", user: "wolf", unit: "hermes-wolf.service" };
  const own = {
    port: 8643,
    relaxed: false,
    adopted: false,
    channels: [],
    servers: [],
    settings: {},
    serves: "http" as const,
  };
  return { manifest: from, version, release, ...names, ...own, paths: places };
}

function rendered(from: Manifest, version: string, each: Partial<Case>) {
  const { env, config } = render(subjectFor(from, version), answersOf(from, each));
  const paths = leavesOf(config).map(([path]) => path);
  const plain = Object.fromEntries(
    [...env].map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
  return {
    env: plain,
    secret: [...env].filter(([, value]) => value instanceof Secret).map(([name]) => name),
    config,
    paths,
  };
}

/** What differs between two maps' keys. */
const without = (map: Record<string, unknown>, names: string[]) =>
  Object.fromEntries(Object.entries(map).filter(([name]) => !names.includes(name)));

function check(version: string, each: Case, everyones: { env: string[]; config: string[] }) {
  if (each.fault !== undefined) {
    const fault = faultOf(() => rendered(manifest, version, each));
    expect(fault.fault).toBe("bad-input");
    expect(fault.message).toContain(each.fault);
    expect(fault.why.join("\n")).toContain(each.why ?? "");
    return;
  }
  const { env, config } = rendered(manifest, version, each);
  expect(without(env, everyones.env)).toEqual(each.env ?? {});
  expect(without(config, everyones.config)).toEqual(each.config ?? {});
  for (const name of each.absent ?? []) expect(env).not.toHaveProperty(name);
  expect(env.HERMES_INFERENCE_PROVIDER).toBe((config.model as Flat).provider);
}

function faultOf(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing went wrong");
}

const apiServer = ["API_SERVER_ENABLED", "API_SERVER_HOST", "API_SERVER_PORT", "API_SERVER_KEY"];
const mains = [...apiServer, "HERMES_INFERENCE_PROVIDER"];
const besides = { env: [...mains, "OPENROUTER_API_KEY"], config: ["platform_toolsets", "model"] };

describe("an agent", () => {
  test.each(cases("agent"))("%s %s", (version, _name, each) => check(version, each, { env: [], config: [] }));
});
describe("its provider", () => {
  const everyones = { env: apiServer, config: ["platform_toolsets"] };
  test.each(cases("providers"))("%s %s", (version, _name, each) => check(version, each, everyones));
});
describe("other models", () => {
  test.each(cases("models"))("%s %s", (version, _name, each) => check(version, each, besides));
});
describe("its channels and servers", () => {
  test.each(cases("channels"))("%s %s", (version, _name, each) => check(version, each, besides));
});

/** An answer that fits, for a field of any kind. */
const anyAnswer = ({ name, flag, choices, default: otherwise }: Field): [string, string] => [
  name,
  flag ? "true" : (choices?.[0] ?? otherwise ?? `any-${name}`),
];
const allAnswers = (fields: Field[]): Flat => Object.fromEntries(fields.map(anyAnswer));

const all = (await loadType("/nowhere", "hermes")).manifest;

describe("its own row with all that it renders is there for", () => {
  const whole = (file: string) => cases(file).flatMap(([, , each]) => (each.fault === undefined ? [each] : []));

  test.each(Object.entries(all.providers))("the provider %s", (name, { aliases }) => {
    const types = whole("providers").map(({ given }) => given?.type ?? "");
    expect(types.some((type) => [name, ...aliases].includes(type))).toBe(true);
  });

  test.each(Object.keys(all.channels))("the channel %s", (name) => {
    expect(whole("channels").map(({ channels }) => Object.keys(channels ?? {}))).toContainEqual([name]);
  });
});

describe("everything a version claims", () => {
  const versions = Object.keys(all.versions);

  test.each(versions)("%s renders every provider, with all answers and with none that may be missing", (version) => {
    for (const [type, { fields, when }] of Object.entries(all.providers)) {
      if (!inRange(version, when)) continue;
      for (const asked of [fields, fields.filter(({ required }) => required)]) {
        const { env, config, secret, paths } = rendered(all, version, {
          given: { type, model: "a-model", ...allAnswers(asked) },
        });
        const model = config.model as Flat;
        expect(model.default, type).toBe("a-model");
        expect(model.provider, type).toMatch(/^[a-z][a-z-]+$/);
        expect(["openai", "ollama", "auto"], type).not.toContain(model.provider);
        expect(env.HERMES_INFERENCE_PROVIDER, type).toBe(model.provider);
        // A switch leaves nothing behind: every leaf is managed, or common to all agents.
        const others = paths.filter((path) => path !== "platform_toolsets.api_server");
        expect(all.managed, type).toEqual(expect.arrayContaining(others));
        // References of config.yaml exist in .env, and secrets are only there.
        const text = JSON.stringify(config);
        for (const [, name = ""] of text.matchAll(/\$\{([A-Z0-9_]+)\}/g)) expect(secret, type).toContain(name);
        for (const name of secret) expect(text, type).not.toContain(`"${env[name]}"`);
      }
    }
  });

  test.each(versions)("%s renders every channel", (version) => {
    for (const [name, { fields, when }] of Object.entries(all.channels)) {
      if (!inRange(version, when)) continue;
      const { env, secret } = rendered(all, version, { channels: { [name]: allAnswers(fields) } });
      for (const { env: variable, secret: kept } of fields) {
        const key = variable ?? kept;
        // It is in config.yaml, or Hermes has no setting for it.
        if (key === undefined) continue;
        expect(env, name).toHaveProperty(key);
        expect(secret.includes(key), key).toBe(kept !== undefined);
      }
    }
  });

  test.each(versions)("%s has every listening channel on the loopback by default", (version) => {
    const listening = Object.entries(all.channels).filter(([, { fields }]) => fields.some(({ listens }) => listens));
    expect(listening.map(([name]) => name).sort()).toEqual([
      ...["bluebubbles", "line", "sms", "teams", "webhook", "wecom_callback", "whatsapp_cloud"],
    ]);
    for (const [name, { fields, when }] of listening) {
      const field = fields.find(({ binds }) => binds);
      // Hermes has no setting for this channel's address, so it must be requested explicitly.
      if (name === "teams") expect([field?.required, field?.default]).toEqual([true, undefined]);
      else expect([field?.required, field?.default], name).toEqual([false, "127.0.0.1"]);
      if (!inRange(version, when) || name === "teams") continue;
      const answers = allAnswers(fields.filter((each) => !each.binds));
      const { env, config } = rendered(all, version, { channels: { [name]: answers } });
      const said = [...Object.values(env), ...leavesOf(config).map(([, value]) => value)];
      expect(said.filter((value) => value === "127.0.0.1").length, name).toBe(2);
      const open = rendered(all, version, { channels: { [name]: { ...answers, bind: "0.0.0.0" } } });
      expect(JSON.stringify([open.env, open.config]), name).toContain('"0.0.0.0"');
    }
  });

  test("no two channels or servers share a variable", () => {
    const names = [...Object.values(all.channels), ...Object.values(all.mcp)].flatMap(({ fields }) =>
      fields.flatMap(({ env, secret }) => env ?? secret ?? []),
    );
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
  });

  test("every channel open to people has an allow-list", () => {
    const open = Object.entries(all.channels).filter(([, { allow }]) => allow.length === 0);
    expect(open.map(([name]) => name)).toEqual(["webhook", "homeassistant"]);
  });

  test.each(versions)("%s installs with flags it knows", (version) => {
    const args = (all.install?.arguments ?? [])
      .filter(({ when }) => inRange(version, when))
      .flatMap((part) => part.args);
    const page = ["--skip-setup", "--branch", "v{{version}}", "--hermes-home", "{{data}}", "--dir", "{{code}}"];
    const later = ["--non-interactive", "--commit", "{{commit}}"];
    expect(args).toEqual(inRange(version, ">=2026.6.5") ? [...page, ...later] : page);
  });
});

test("a provider and a channel that only a user's file knows render with no code", async () => {
  writeFileSync(
    join(dir, "manifests", "mine.yaml"),
    `type: hermes
providers:
  acme:
    title: Acme
    aliases: [acme-ai]
    when: ">=2026.5.29"
    fields:
      - { name: key, ask: Key, secret: KEY, required: true }
      - { name: team, ask: Team, default: red }
    render:
      - env: { ACME_KEY: "{{key}}" }
        config: { model: { provider: custom, base_url: "https://{{team}}.acme.example/v1", default: "{{model}}", api_key: "\${ACME_KEY}" } }
channels:
  pigeon:
    title: Pigeon post
    fields:
      - { name: loft, ask: Loft, env: PIGEON_LOFT, required: true }
      - { name: seal, ask: Seal, secret: PIGEON_SEAL }
    env: { PIGEON_ENABLED: "true", PIGEON_ROUTE: "{{loft}}/in" }
    config: { platforms: { pigeon: { home_channel: "{{loft}}" } } }
`,
  );
  const mine = (await loadType(dir, "hermes")).manifest;
  const given = { type: "acme-ai", model: "big", key: "k-1" };
  const { env, config, secret, paths } = rendered(mine, "2026.5.29", {
    given,
    channels: { pigeon: { loft: "roof", seal: "wax" } },
  });
  expect(without(env, mains)).toEqual({
    ACME_KEY: "k-1",
    PIGEON_LOFT: "roof",
    PIGEON_SEAL: "wax",
    PIGEON_ENABLED: "true",
    PIGEON_ROUTE: "roof/in",
  });
  expect(secret).toEqual(["API_SERVER_KEY", "ACME_KEY", "PIGEON_SEAL"]);
  expect(config).toEqual({
    model: { provider: "custom", base_url: "https://red.acme.example/v1", default: "big", api_key: `\${ACME_KEY}` },
    platforms: { pigeon: { home_channel: "roof" } },
  });
  expect(paths).toEqual(leavesOf(config).map(([path]) => path));
  expect(faultOf(() => rendered(mine, "2026.5.7", { given })).message).toContain("has no provider type 'acme'");
});
