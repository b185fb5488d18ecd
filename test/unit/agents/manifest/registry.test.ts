import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { flawsIn } from "../../../../src/agents/manifest/flaws.js";
import { defaultVersion, loadType, loadTypes, releaseOf } from "../../../../src/agents/manifest/registry.js";
import { agentType } from "../../../../src/agents/type.js";
import { Fault } from "../../../../src/errors.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "clm-registry-"));
  mkdirSync(join(dir, "manifests"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function overlay(name: string, text: string): string {
  const file = join(dir, "manifests", name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

async function faultOf(work: () => unknown): Promise<Fault> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing went wrong");
}

const hermes = () => loadType(dir, "hermes");

test("the built-in manifest has every version, and the newest is the default", async () => {
  const { manifest, sources } = await loadType(join(dir, "nowhere"), "hermes");
  expect(Object.keys(sources)).toEqual(["2026.5.7", "2026.5.16", "2026.5.29", "2026.6.5", "2026.6.19", "2026.7.1"]);
  expect(new Set(Object.values(sources))).toEqual(new Set(["built in"]));
  expect(defaultVersion(manifest, {})).toBe("2026.7.1");
});

test("nothing in the built-in manifest leads nowhere", async () => {
  expect(flawsIn((await hermes()).manifest)).toEqual([]);
});

test("an overlay adds a version, and a default for hosts with a label", async () => {
  const file = overlay(
    "lab.yaml",
    `type: hermes
default_by_label: { lab: 2026.7.1+standin }
versions:
  2026.7.1+standin:
    reports: 0.18.0
    installer: { url: "file:///tmp/i.sh", size: 3, sha256: ${"a".repeat(64)} }
    standin: true
    reach: []
`,
  );
  const { manifest, sources } = await hermes();
  expect(sources["2026.7.1+standin"]).toBe(file);
  expect(sources["2026.7.1"]).toBe("built in");
  expect(releaseOf(manifest, "2026.7.1+standin").standin).toBe(true);
  expect(defaultVersion(manifest, { lab: "one" })).toBe("2026.7.1+standin");
  expect(defaultVersion(manifest, { rack: "lab" })).toBe("2026.7.1");
});

test("maps are merged, lists replaced, later file names win", async () => {
  overlay("a.yaml", "type: hermes\ntitle: A\nrequires: { memory_mb: 1, systems: [debian 13] }\n");
  overlay("b.yaml", "type: hermes\nrequires: { memory_mb: 2 }\n");
  overlay(".hidden.yaml", "type: hermes\ntitle: hidden\n");
  overlay("notes.txt", "not a manifest");
  const { manifest } = await hermes();
  expect(manifest.title).toBe("A");
  expect(manifest.requires.memory_mb).toBe(2);
  expect(manifest.requires.systems).toEqual(["debian 13"]);
  expect(manifest.requires.arch).toEqual(["x86_64", "aarch64"]);
  expect(await loadTypes(dir)).toHaveLength(2);
});

test("an overlay's values are gone with its file", async () => {
  const file = overlay("a.yaml", "type: hermes\ntitle: A\n");
  expect((await hermes()).manifest.title).toBe("A");
  rmSync(file);
  expect((await hermes()).manifest.title).toBe("Hermes Agent");
});

test.each([
  ["no map", "- a\n", "type", "is missing"],
  ["no type", "title: A\n", "type", "is missing"],
  ["empty", "", "type", "is missing"],
  ["no YAML", "type: hermes\npaths: {\n", "line 3", "Flow map"],
  ["a key twice", "type: hermes\ntitle: A\ntitle: B\n", "line 3", "unique"],
  ["a word too many", "type: hermes\ncolour: red\n", "type", "colour"],
  [
    "a short digest",
    "type: hermes\nversions: { 2026.7.1: { installer: { sha256: ab } } }\n",
    "versions.2026.7.1.installer.sha256",
    "64 lowercase hex digits",
  ],
  [
    "a new version without its bytes",
    "type: hermes\nversions: { 2026.8.1: { reports: 0.19.0 } }\n",
    "versions.2026.8.1.installer",
    "expected object",
  ],
  ["a default nobody pinned", "type: hermes\ndefault: 2027.1.1\n", "default", "not one of the versions"],
  [
    "a label's default nobody pinned",
    "type: hermes\ndefault_by_label: { lab: 2027.1.1 }\n",
    "default_by_label.lab",
    "not one of the versions",
  ],
  ["a range that is none", "type: hermes\nhandoff: { channels: '2026.5.7 or so' }\n", "handoff.channels", "range"],
  [
    "a pattern that is none",
    "type: hermes\ninstall: { warnings: ['['] }\n",
    "install.warnings.0",
    "regular expression",
  ],
  [
    "a template of a field nobody asks",
    "type: hermes\nproviders: { openrouter: { render: [{ env: { A: '{{token}}' } }] } }\n",
    "providers.openrouter.render.0.env.A",
    "{{token}} is none of",
  ],
  [
    "a secret in config.yaml",
    "type: hermes\nproviders: { openrouter: { render: [{ config: { model: { api_key: '{{api_key}}' } } }] } }\n",
    "providers.openrouter.render.0.config.model.api_key",
    "{{api_key}} is none of",
  ],
  ["a template with a block", "type: hermes\nunit: { name: '{{#if name}}a{{/if}}' }\n", "unit.name", "not a template"],
  ["a helper nobody has", "type: hermes\nunit: { name: '{{upper name}}' }\n", "unit.name", "not a template"],
  [
    "an alias twice",
    "type: hermes\nproviders: { openrouter: { aliases: [ollama] } }\n",
    "providers.openrouter.aliases",
    "already used by ollama",
  ],
  [
    "an allow-list of no field",
    "type: hermes\nchannels: { discord: { allow: [friends] } }\n",
    "channels.discord.allow",
    "no field is called friends",
  ],
  [
    "a port to listen on that nobody knows",
    "type: hermes\nchannels: { webhook: { fields: [{ name: port, ask: Port, listens: true }] } }\n",
    "channels.webhook.fields.0",
    "needs a default or required: true",
  ],
  [
    "a port to listen on, and no address",
    `type: hermes\nchannels: { webhook: { config: {}, fields: [{ name: port, ask: Port, listens: true, default: "8644" }] } }\n`,
    "channels.webhook.fields",
    "needs a field for the address",
  ],
  [
    "an address to listen on that nobody knows",
    `type: hermes\nchannels: { webhook: { config: {}, fields: [{ name: bind, ask: Address, binds: true }] } }\n`,
    "channels.webhook.fields",
    "needs a default or required: true",
  ],
  ["a new type that is not complete", "type: other\ntitle: Other\n", "default", "expected string"],
])("%s is refused by file, path and reason", async (_what, text, path, reason) => {
  const file = overlay("bad.yaml", text);
  const fault = await faultOf(hermes);
  expect(fault.fault).toBe("bad-input");
  expect(fault.message).toContain(file);
  expect(fault.data).toMatchObject({ file, path });
  expect(fault.why.join("\n")).toContain(reason);
});

test("a file that everyone may write is not read", async () => {
  const file = overlay("a.yaml", "type: hermes\n");
  chmodSync(file, 0o666);
  const fault = await faultOf(hermes);
  expect(fault.fault).toBe("bad-input");
  expect(fault.next).toEqual([`chmod go-w ${file}`]);
  chmodSync(file, 0o664);
  expect((await hermes()).manifest.type).toBe("hermes");
});

test("an unknown version or type is answered with a suggestion", async () => {
  const version = await faultOf(async () => releaseOf((await hermes()).manifest, "2026.7.2"));
  expect([version.fault, version.data.guess, version.next]).toEqual(["not-found", "2026.7.1", ["clm registry list"]]);
  const type = await faultOf(() => loadType(dir, "hremes"));
  expect([type.fault, type.data.guess]).toEqual(["not-found", "hermes"]);
});

test("a whole type of the user's own", async () => {
  const { manifest } = await hermes();
  const other = { ...manifest, type: "other", title: "Other" };
  overlay("other.yaml", JSON.stringify(other));
  await expect(loadTypes(dir)).rejects.toMatchObject({ data: { path: "like" } });
  overlay("other.yaml", JSON.stringify({ ...other, like: "hermes" }));
  expect((await loadTypes(dir)).map(({ manifest: { type } }) => type)).toEqual(["hermes", "program", "other"]);
});

test("a type of the user's own that is a program with a default command", async () => {
  const { manifest } = await loadType(dir, "program");
  const [command, ...others] = manifest.settings;
  const settings = [{ ...command, default: "python3 bot.py" }, ...others];
  overlay("bot.yaml", JSON.stringify({ ...manifest, type: "bot", title: "Bot", like: "program", settings }));
  const { manifest: bot } = await loadType(dir, "bot");
  expect([bot.type, bot.like, bot.settings[0]?.default]).toEqual(["bot", "program", "python3 bot.py"]);
  const { renderer } = await agentType(bot);
  expect(renderer).toBe((await agentType(manifest)).renderer);
  // The built-in type is as it was.
  expect((await loadType(dir, "program")).manifest.settings[0]?.default).toBeUndefined();
});

test("managed settings are expanded for each task", async () => {
  const { managed } = (await hermes()).manifest;
  expect(managed).toContain("auxiliary.vision.api_key");
  expect(managed.filter((path) => path.includes("*"))).toEqual([]);
});

describe("a checked manifest is cached", () => {
  const kept = () => join(dir, "cache", "manifests");
  const files = () => readdirSync(kept());
  const only = () => join(kept(), files()[0] ?? "");

  /** As the next process does it. */
  async function later(): Promise<string> {
    vi.resetModules();
    const { loadType: load } = await import("../../../../src/agents/manifest/registry.js");
    return (await load(dir, "hermes")).manifest.title;
  }

  /** Changes the cache so that it differs from a fresh result. */
  function marked(): void {
    const text = readFileSync(only(), "utf8");
    writeFileSync(only(), text.replaceAll('"title":"A"', '"title":"kept"'));
  }

  beforeEach(async () => {
    overlay("a.yaml", "type: hermes\ntitle: A\n");
    expect(await later()).toBe("A");
  });

  test("in a file of the user's alone, and taken from there", async () => {
    expect(files()).toHaveLength(1);
    expect(statSync(only()).mode & 0o777).toBe(0o600);
    marked();
    expect(await later()).toBe("kept");
  });

  test("until a manifest changes, comes or goes", async () => {
    marked();
    const before = files();
    overlay("b.yaml", "type: hermes\ntitle: B\n");
    expect(await later()).toBe("B");
    expect(files()).toHaveLength(1);
    expect(files()).not.toEqual(before);
    rmSync(join(dir, "manifests", "b.yaml"));
    overlay("a.yaml", "type: hermes\ntitle: C\n");
    expect(await later()).toBe("C");
  });

  test.each([
    ["damaged", () => writeFileSync(only(), "[{")],
    ["no list", () => writeFileSync(only(), "{}")],
    ["open to others", () => chmodSync(only(), 0o622)],
  ])("but not from a cache file that is %s, which is recreated", async (_what, spoil) => {
    marked();
    spoil();
    expect(await later()).toBe("A");
    expect(statSync(only()).mode & 0o777).toBe(0o600);
    marked();
    expect(await later()).toBe("kept");
  });

  test("and a manifest that everyone may write is refused all the same", async () => {
    chmodSync(join(dir, "manifests", "a.yaml"), 0o666);
    await expect(later()).rejects.toMatchObject({ fault: "bad-input" });
  });

  test("where there is a config directory: none is made for it", async () => {
    const nowhere = join(dir, "nowhere");
    await loadType(nowhere, "hermes");
    expect(statSync(nowhere, { throwIfNoEntry: false })).toBeUndefined();
  });
});
