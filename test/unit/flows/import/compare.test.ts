import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadType, releaseOf } from "../../../../src/agents/manifest/registry.js";
import { pathsFor, type ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { differences, type ImportExpectation } from "../../../../src/flows/import/compare/differences.js";
import { type ImportedState, importedStateFrom } from "../../../../src/flows/import/compare/observe.js";

const { manifest } = await loadType("/nowhere", "hermes");
const agent: ResolvedAgent = {
  manifest,
  version: "2026.5.7",
  release: releaseOf(manifest, "2026.5.7"),
  host: "box",
  name: "h1",
  user: "h1",
  ...{
    ref: "h1",
    adopted: true,
    channels: [],
    servers: [],
    settings: {},
    serves: "http" as const,
    unit: "hermes-h1.service",
    port: 8642,
    relaxed: false,
    paths: pathsFor(manifest, "h1"),
  },
};
const asWished: ImportedState = {
  account: { home: "/home/h1" },
  unit: {
    LoadState: "loaded",
    NoNewPrivileges: "yes",
    ProtectSystem: "strict",
    ProtectHome: "tmpfs",
    PrivateTmp: "yes",
  },
  version: "Hermes Agent v0.13.0 (2026.5.7)",
  env: "600",
  variables: ["API_SERVER_KEY"],
  bind: "127.0.0.1",
  port: "8642",
  key: "digest",
};
const known: ImportExpectation = { key: "digest", samePort: [], variables: ["API_SERVER_KEY"] };

interface Case {
  name: string;
  seen?: Record<string, unknown>;
  known?: Record<string, unknown>;
  differs: Record<string, string>;
}
const cases: Case[] = parse(readFileSync(resolve("test/cases/import/compare.yaml"), "utf8"));
const without = (changes: Record<string, unknown> = {}) =>
  Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value ?? undefined]));

describe("an agent of Clawrium's on its host", () => {
  it.each(cases.map((each) => [each.name, each] as const))("%s", (_, given) => {
    const found = differences(agent, { ...asWished, ...without(given.seen) }, { ...known, ...without(given.known) });
    expect(Object.fromEntries(found.map(({ id, differs }) => [id, differs]))).toEqual(given.differs);
    for (const { fix } of found) expect(fix).toMatch(/^clm agent (configure|remove|rotate-key) /);
  });
});

describe("the host's answer", () => {
  it("is read to its end, or not at all", () => {
    const text = `account=h1:x:1001:1001::/home/h1:/usr/sbin/nologin
unit.LoadState=loaded
variable=API_SERVER_KEY
bind=0.0.0.0
env=600
version=Hermes Agent v0.13.0 (2026.5.7)
`;
    expect(importedStateFrom(text)).toBeUndefined();
    expect(importedStateFrom(`${text}end=yes\n`)).toMatchObject({
      account: { home: "/home/h1" },
      unit: { LoadState: "loaded" },
      variables: ["API_SERVER_KEY"],
      bind: "0.0.0.0",
      env: "600",
      key: "",
    });
  });
});
