import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { providerValues } from "../../../src/flows/provider/values.js";
import { Secret } from "../../../src/secret.js";
import { inSession } from "../flows/in-session.js";
import { vendors } from "../flows/vendor.js";
import { faultOf, scratchDirectories } from "../state/scratch.js";
import { keyboard, memory } from "../ui/streams.js";
import {
  addAgents,
  addTypes,
  filesWith,
  goodKey,
  newKey,
  provider,
  read,
  states,
  takes,
} from "./provider/vendor-types.js";

const scratch = scratchDirectories();
const vendor = vendors();

/** A config directory with the test's provider types, whose vendor accepts these keys. */
async function vendorHome(...keys: string[]) {
  const dir = scratch();
  const service = await vendor((asked, response) => {
    const known = keys.some((key) => takes(key, asked));
    response.writeHead(known ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(known ? { data: [] } : { error: { code: "invalid_api_key" } }));
  });
  addTypes(dir, service.url);
  return { dir, service };
}

const values = (dir: string, name: string, env: NodeJS.ProcessEnv = {}) =>
  inSession({ configDir: dir, env }, async (session) => {
    const { values: found, ...rest } = await providerValues(session, name);
    const plain = Object.entries(found).map(([key, value]) => [key, value instanceof Secret ? value.reveal() : value]);
    return { ...rest, values: Object.fromEntries(plain) };
  }).then(({ result }) => result);

const add = ["add", "main", "--type", "trial", "--key-stdin"];

describe("clm provider types", () => {
  it("lists the fields of each", async () => {
    const { dir } = await vendorHome();
    const { code, stdout } = await provider(dir, ["types"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^trial +A vendor on trial +api_key\*! second! team region +all +tryout$/m);
    const all = JSON.parse((await provider(dir, ["types", "-o", "json"])).stdout);
    const trial = all.find(({ name }: { name: string }) => name === "trial");
    expect(trial).toMatchObject({ agent: "hermes", aliases: ["tryout"], testable: true });
    expect(trial.fields[0]).toMatchObject({ name: "api_key", secret: true, required: true });
  });
});

describe("clm provider add", () => {
  it("asks the service, stores it, and keeps the key in one place", async () => {
    const { dir, service } = await vendorHome(goodKey);
    const { code, stdout, stderr } = await provider(dir, [...add, "--model", "m1", "--set", "team=a b"], {
      input: `${goodKey}\n`,
    });
    expect(stderr).toBe(`tested: ${service.host} answers (200)\n`);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^main +trial +m1 +- +stored +-$/m);
    expect(service.asked.map(({ path }) => path)).toEqual(["/eu/key"]);
    expect(read(dir, "providers.json").providers.main).toEqual({
      type: "trial",
      fields: { team: "a b" },
      model: "m1",
      added_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
    });
    expect(read(dir, "secrets.json")["provider:main"].API_KEY.value).toBe(goodKey);
    expect(filesWith(dir, goodKey)).toEqual(["secrets.json"]);
    expect(readFileSync(join(dir, "audit.jsonl"), "utf8")).toContain('"provider add"');
    expect(await values(dir, "main")).toEqual({
      type: "trial",
      model: "m1",
      values: { api_key: goodKey, team: "a b", region: "eu" },
    });
  });

  it("takes a type by another of its names, and a key from a file", async () => {
    const { dir } = await vendorHome(goodKey);
    const file = join(scratch(), "key");
    writeFileSync(file, `${goodKey}\n`, { mode: 0o600 });
    const words = ["add", "main", "--type", "tryout", "--key-file", file, "-o", "json"];
    const [row] = JSON.parse((await provider(dir, words)).stdout);
    expect(row).toMatchObject({ name: "main", type: "trial", stored: ["API_KEY"], used_by: [] });
  });

  it("keeps a reference and not the key, and fetches it each time", async () => {
    const { dir } = await vendorHome(goodKey);
    const env = { KEY: goodKey, OTHER: newKey };
    const words = ["add", "main", "--type", "trial", "--key-ref", "env:KEY", "--secret", "second=env:OTHER"];
    const { code, stdout } = await provider(dir, words, { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^main +trial .* env:KEY, stored +-$/m);
    expect(read(dir, "providers.json").providers.main.references).toEqual({ api_key: "env:KEY" });
    expect(filesWith(dir, goodKey)).toEqual([]);
    expect(filesWith(dir, newKey)).toEqual(["secrets.json"]);
    expect((await values(dir, "main", { KEY: "sk-later" })).values).toMatchObject({
      api_key: "sk-later",
      second: newKey,
    });
    const fault = await faultOf(() => values(dir, "main"));
    expect(fault).toMatchObject({ fault: "bad-input", next: ["export KEY", "clm provider show main"] });
  });

  it("a key command runs once, however often the key is needed", async () => {
    const { dir } = await vendorHome(goodKey);
    const count = join(scratch(), "count");
    const command = `cmd:echo x >> ${count}; echo ${goodKey}`;
    const { code, stdout } = await provider(dir, ["add", "main", "--type", "trial", "--key-ref", command, "--no-test"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^main .* cmd:echo +-$/m)]);
    writeFileSync(count, "");
    await inSession({ configDir: dir }, async (session) => {
      await providerValues(session, "main");
      await providerValues(session, "main");
    });
    expect(readFileSync(count, "utf8")).toBe("x\n");
  });

  it("that the service refuses stores nothing, and names the option to skip the test", async () => {
    const { dir, service } = await vendorHome(goodKey);
    const refused = await provider(dir, add, { input: newKey });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(
      `provider main was not added: ${service.host} refused the key (401, invalid_api_key)`,
    );
    expect(refused.stderr).toContain(`provider add main --type trial --key-stdin --no-test`);
    expect(existsSync(join(dir, "providers.json")) || existsSync(join(dir, "secrets.json"))).toBe(false);
    const stored = await provider(dir, [...add, "--no-test"], { input: newKey });
    expect(stored).toMatchObject({ code: 0, stderr: "" });
    expect(service.asked).toHaveLength(1);
  });

  it("of an address on the loopback is for the agent's host to test", async () => {
    const { dir, service } = await vendorHome();
    for (const [name, endpoint] of [
      ["a", service.url],
      ["b", "http://localhost:11434"],
      ["c", "http://[::1]:11434/v1"],
    ] as const) {
      const { code, stderr } = await provider(dir, ["add", name, "--type", "placed", "--endpoint", `${endpoint}/`]);
      expect([code, stderr]).toEqual([0, "not tested: will be tested from the agent's host at configure\n"]);
      expect(read(dir, "providers.json").providers[name].fields).toEqual({ endpoint });
    }
    expect(service.asked).toEqual([]);
    const tested = await provider(dir, ["test", "b"]);
    expect(tested).toMatchObject({ code: 6, stderr: expect.stringContaining("next: clm provider test b --host HOST") });
  });

  it("asks for missing fields on a terminal", async () => {
    const { dir } = await vendorHome(goodKey);
    const [stdin, stderr] = [keyboard(), memory({ columns: 80 })];
    const done = provider(dir, ["add", "main", "--type", "trial"], { stdin: () => stdin, stderr });
    await vi.waitUntil(() => stderr.text().includes("API key (A vendor on trial):"), { timeout: 10_000 });
    stdin.type(`${goodKey}\r`);

    expect((await done).code).toBe(0);
    expect(stderr.text()).not.toContain("planted");
    expect((await values(dir, "main")).values.api_key).toBe(goodKey);
  });

  it("only reports in a dry run", async () => {
    const { dir } = await vendorHome(goodKey);
    const { code, stderr } = await provider(dir, [...add, "--dry-run"], { input: goodKey });
    expect([code, stderr]).toEqual([0, expect.stringContaining("would add provider main (trial)\n")]);
    expect(filesWith(dir, goodKey)).toEqual([]);
    expect(existsSync(join(dir, "providers.json"))).toBe(false);
  });

  it("of an existing name changes nothing", async () => {
    const { dir } = await vendorHome(goodKey, newKey);
    await provider(dir, add, { input: goodKey });
    const again = await provider(dir, add, { input: newKey });
    expect(again).toMatchObject({ code: 5, stderr: expect.stringContaining("clm provider update main") });
    expect((await values(dir, "main")).values.api_key).toBe(goodKey);
  });

  it.each<[string, string[], number, RegExp]>([
    ["no type", [], 6, /--type TYPE answers it/],
    ["no such type", ["--type", "trail"], 4, /did you mean 'trial'/],
    ["a key nobody gives", ["--type", "trial"], 6, /--key-stdin answers it/],
    ["an address nobody gives", ["--type", "placed"], 6, /--endpoint URL answers it/],
    ["a key as argument", ["--type", "trial", "--set", `api_key=${goodKey}`], 2, /a secret is never an argument/],
    ["a key as source", ["--type", "trial", "--secret", `api_key=${goodKey}`], 2, /a secret is never an argument/],
    ["a key as reference", ["--type", "trial", "--key-ref", goodKey], 2, /a secret is never an argument/],
    ["a key with no field", ["--type", "trial", "--secret", goodKey], 2, /write --secret FIELD=/],
    ["a key as option", ["--type", "trial", `--key=${goodKey}`], 2, /has no option --key/],
    ["a reference to stdin", ["--type", "trial", "--key-ref", "-"], 2, /must be readable more than once/],
    ["a key of another kind", ["--type", "trial", "--secret", "api_key=env:WRONG"], 2, /a key starts with sk-/],
    ["two keys", ["--type", "trial", "--key-stdin", "--key-ref", "env:KEY"], 2, /use only one of --key-stdin/],
    ["one key twice", ["--type", "trial", "--key-ref", "env:KEY", "--secret", "api_key=env:KEY"], 2, /given twice/],
    ["two on stdin", ["--type", "trial", "--key-stdin", "--secret", "second=-"], 2, /stdin was read already/],
    ["an unknown field", ["--type", "trial", "--set", `teem=${goodKey}`], 2, /no field called 'teem'/],
    ["a field twice", ["--type", "placed", "--set", "endpoint=http://a", "--endpoint", "http://b"], 2, /given twice/],
    ["a choice there is not", ["--type", "trial", "--key-ref", "env:KEY", "--region", "mars"], 2, /one of eu, us/],
    ["an empty field", ["--type", "trial", "--key-ref", "env:KEY", "--set", "team="], 2, /team is empty/],
    ["no field for it", ["--type", "trial", "--endpoint", "http://a"], 2, /no field called 'endpoint'/],
    ["no secret", ["--type", "placed", "--secret", "endpoint=env:KEY"], 2, /is not a secret/],
    ["the model as a field", ["--type", "trial", "--set", "model=m"], 2, /--model/],
    ["no address", ["--type", "placed", "--endpoint", "gpu:11434"], 2, /http:\/\/… or https:\/\/…/],
    [
      "a key in an address",
      ["--type", "placed", "--endpoint", `http://u:${goodKey}@a/`],
      2,
      /holds a password|not a valid provider URL/,
    ],
    ["a key behind an address", ["--type", "placed", "--endpoint", "http://a/?key=planted"], 2, /before any \?/],
  ])("refuses %s", async (_, words, code, message) => {
    const { dir } = await vendorHome();
    const env = { KEY: goodKey, WRONG: "planted-but-wrong" };
    const result = await provider(dir, ["add", "main", ...words], { env, input: goodKey });
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(message);
    expect(result.stdout + result.stderr).not.toContain("planted");
    expect(existsSync(join(dir, "providers.json")) || existsSync(join(dir, "audit.jsonl"))).toBe(false);
  });

  it.each(["Main", "a:b", "../x", "-a", ""])("refuses the name %j", async (name) => {
    const { dir } = await vendorHome();
    const { code } = await provider(dir, ["add", "--type", "trial", "--no-test", "--key-stdin", "--", name]);
    expect(code).toBe(2);
  });
});

describe("clm provider test", () => {
  it("asks again, and ends with 1 when the answer is no", async () => {
    const keys = [goodKey];
    const dir = scratch();
    const service = await vendor((asked, response) => {
      const known = keys.some((key) => takes(key, asked));
      response.writeHead(known ? 200 : 401).end("{}");
    });
    addTypes(dir, service.url);
    await provider(dir, add, { input: goodKey });
    const well = await provider(dir, ["test", "main", "-o", "json"]);
    expect(JSON.parse(well.stdout)).toEqual([
      { provider: "main", id: "provider.main", result: "ok", reason: `${service.host} answers (200)` },
    ]);
    keys.pop();
    const badly = await provider(dir, ["test", "main"]);
    expect(badly.code).toBe(1);
    expect(badly.stdout).toContain(`main: ${service.host} refused the key (401)\n  fix: check the key\n`);
  });

  it("of an unknown name suggests a similar one", async () => {
    const { dir } = await vendorHome(goodKey);
    await provider(dir, add, { input: goodKey });
    expect(await provider(dir, ["test", "mian"])).toMatchObject({ code: 4, stderr: expect.stringContaining("'main'") });
    expect(await provider(dir, ["test", "main", "--host", "wolf-i"])).toMatchObject({ code: 4 });
  });
});

describe("clm provider update", () => {
  async function used(...keys: string[]) {
    const made = await vendorHome(goodKey, ...keys);
    await provider(made.dir, [...add, "--model", "m1", "--set", "team=a"], { input: goodKey });
    await addAgents(made.dir);
    return made;
  }

  it("sets the stage of its agents back, and names the next command", async () => {
    const { dir } = await used(newKey);
    const { code, stdout, stderr } = await provider(dir, ["update", "main", "--key-stdin"], { input: newKey });
    expect(code).toBe(0);
    expect(stderr).toContain("clm agent configure first\n");
    expect(stderr).toContain("clm agent configure falls\n");
    expect(stderr).toContain("clm agent configure helps\n");
    expect(stderr).not.toContain("alien");
    expect(stdout).toContain("wolf-i:hermes:first");
    expect(states(dir)).toEqual({
      first: "validate",
      falls: "validate",
      helps: "validate",
      fresh: "channels",
      alien: "ready",
    });
    expect(Object.keys(read(dir, "hosts.json").hosts[0].agents.first.onboarding.stages)).toEqual(["providers"]);
    expect(await values(dir, "main")).toMatchObject({ model: "m1", values: { api_key: newKey, team: "a" } });
  });

  it("to the same values changes nothing", async () => {
    const { dir } = await used();
    const before = ["providers.json", "secrets.json", "hosts.json", "audit.jsonl"].map((file) =>
      readFileSync(join(dir, file), "utf8"),
    );
    const { code, stderr } = await provider(dir, ["update", "main", "--model", "m1", "--key-stdin"], {
      input: goodKey,
    });
    expect([code, stderr]).toEqual([0, "already up to date; nothing was changed\n"]);
    const after = ["providers.json", "secrets.json", "hosts.json", "audit.jsonl"].map((file) =>
      readFileSync(join(dir, file), "utf8"),
    );
    expect(after).toEqual(before);
  });

  it("of a model alone asks no service", async () => {
    const { dir, service } = await used();
    const { code } = await provider(dir, ["update", "main", "--model", "m2"]);
    expect([code, service.asked.length]).toEqual([0, 1]);
    expect(states(dir).first).toBe("validate");
  });

  it("removes optional fields, but not required ones", async () => {
    const { dir } = await used();
    await provider(dir, ["update", "main", "--unset", "team", "--unset", "model"]);
    expect(await values(dir, "main")).toEqual({ type: "trial", values: { api_key: goodKey, region: "eu" } });
    expect(await provider(dir, ["update", "main", "--unset", "api_key"])).toMatchObject({ code: 2 });
    expect(await provider(dir, ["update", "main", "--unset", "team", "--set", "team=b"])).toMatchObject({ code: 2 });
    expect(await provider(dir, ["update", "main"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no option names a change to"),
    });
  });

  it("to a reference forgets the key, in the backups too, and back", async () => {
    const { dir } = await used();
    await provider(dir, ["update", "main", "--key-ref", "env:KEY"], { env: { KEY: goodKey } });
    expect(filesWith(dir, goodKey)).toEqual([]);
    expect((await values(dir, "main", { KEY: newKey })).values.api_key).toBe(newKey);
    await provider(dir, ["update", "main", "--key-stdin"], { input: goodKey });
    expect(read(dir, "providers.json").providers.main).not.toHaveProperty("references");
    expect((await values(dir, "main")).values.api_key).toBe(goodKey);
  });

  it("that the service refuses changes nothing", async () => {
    const { dir } = await used();
    const { code, stderr } = await provider(dir, ["update", "main", "--key-stdin"], { input: newKey });
    expect([code, stderr]).toEqual([1, expect.stringContaining("provider main was not changed: ")]);
    expect((await values(dir, "main")).values.api_key).toBe(goodKey);
    expect(states(dir).first).toBe("ready");
  });
});

describe("clm provider remove", () => {
  it("is refused while agents use it, and forced sets them back", async () => {
    const { dir } = await vendorHome(goodKey);
    await provider(dir, add, { input: goodKey });
    await addAgents(dir);
    const refused = await provider(dir, ["remove", "main", "--yes"]);
    expect(refused.code).toBe(5);
    for (const name of ["first", "falls", "helps", "fresh"]) expect(refused.stderr).toContain(`wolf-i:hermes:${name}`);
    expect(refused.stderr).not.toContain("alien");
    const would = await provider(dir, ["remove", "main", "--force", "--dry-run"]);
    expect(would.stderr).toBe(`would forget provider main and its keys (API_KEY)
${["first", "falls", "helps", "fresh"].map((name) => `would leave wolf-i:hermes:${name} without a provider\n`).join("")}`);
    expect(filesWith(dir, goodKey)).toEqual(["secrets.json"]);
    const forced = await provider(dir, ["remove", "main", "--force", "--yes"]);
    expect(forced.stderr).toContain("removed main and its keys\n");
    expect(forced.stderr).toContain(
      "first still has the key of main on wolf-i; choose another provider: clm agent configure first",
    );
    expect(states(dir)).toEqual({
      first: "providers",
      falls: "providers",
      helps: "providers",
      fresh: "providers",
      alien: "ready",
    });
    expect(filesWith(dir, goodKey)).toEqual([]);
  });

  it("asks, and forgets the key in the backups too", async () => {
    const { dir } = await vendorHome(goodKey, newKey);
    await provider(dir, add, { input: goodKey });
    await provider(dir, ["update", "main", "--key-stdin"], { input: newKey });
    expect(await provider(dir, ["remove", "main"])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("--yes"),
    });
    expect((await provider(dir, ["remove", "main", "--yes"])).code).toBe(0);
    expect([...filesWith(dir, goodKey), ...filesWith(dir, newKey)]).toEqual([]);
    expect((await provider(dir, ["list"])).stderr).toContain("No providers yet");
    expect((await provider(dir, ["remove", "main", "--yes"])).code).toBe(4);
  });
});

it("no command shows a key", async () => {
  const { dir } = await vendorHome(goodKey);
  await provider(dir, [...add, "--secret", "second=env:OTHER"], { input: goodKey, env: { OTHER: newKey } });
  for (const words of [["list"], ["show", "main"], ["test", "main"], ["types"]]) {
    for (const format of ["table", "json", "yaml"]) {
      const { code, stdout, stderr } = await provider(dir, [...words, "-o", format, "--debug"]);
      expect([code, stdout.includes("planted"), stderr.includes("planted")]).toEqual([0, false, false]);
    }
  }
  expect((await provider(dir, ["show", "main"])).stdout).toMatch(/^Stored: +API_KEY, SECOND$/m);
});
