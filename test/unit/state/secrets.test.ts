import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { Secret } from "../../../src/secret.js";
import { ownerKey, parseOwnerKey, type SecretOwner } from "../../../src/state/secret-owner.js";
import { openSecrets } from "../../../src/state/secrets.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const agent: SecretOwner = { host: "wolf-i", type: "hermes", agent: "hermes-test" };
const provider: SecretOwner = { provider: "openrouter" };
const value = "3f9c-secret-value";
const keyName = "HERMES_API_SERVER_KEY";
const at = (time: string) => ({ now: () => new Date(time) });
const fileIn = (dir: string) => JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8"));

test.each<[SecretOwner, string]>([
  [agent, "wolf-i:hermes:hermes-test"],
  [{ host: "10.0.0.5", type: "hermes", agent: "h_1" }, "10.0.0.5:hermes:h_1"],
  [provider, "provider:openrouter"],
  [{ gateway: "keys" }, "gateway:keys"],
  // Three parts are an agent's, whatever the host is called.
  [{ host: "provider", type: "hermes", agent: "x" }, "provider:hermes:x"],
])("%j is %s, and back", (instance, key) => {
  expect(ownerKey(instance)).toBe(key);
  expect(parseOwnerKey(key)).toEqual(instance);
});

test.each<SecretOwner>([
  { provider: "a:b" },
  { provider: "" },
  { host: "wolf:i", type: "hermes", agent: "x" },
  { host: "wolf-i", type: "", agent: "x" },
  { host: "wolf-i", type: "hermes", agent: "../x" },
])("%j has no key", async (instance) => {
  expect((await faultOf(() => ownerKey(instance))).fault).toBe("bad-input");
});

test.each(["", "x", "a:b", "channel:x", "a::b", "a:b:", "a:b:c:d", "__global__", "provider:"])(
  "%j is no key of ours",
  (key) => {
    expect(parseOwnerKey(key)).toBeUndefined();
  },
);

test("a secret is kept as the recipe in the documentation expects it", async () => {
  const dir = scratch();
  await openSecrets(dir, at("2025-01-01T00:00:00Z")).set(agent, keyName, new Secret(value), "the agent's own key");
  expect(fileIn(dir)).toEqual({
    version: 1,
    "wolf-i:hermes:hermes-test": {
      [keyName]: {
        value,
        created_at: "2025-01-01T00:00:00.000Z",
        updated_at: "2025-01-01T00:00:00.000Z",
        description: "the agent's own key",
      },
    },
  });
  expect(statSync(join(dir, "secrets.json")).mode & 0o777).toBe(0o600);
});

test("it comes out as something that does not show", async () => {
  const dir = scratch();
  await openSecrets(dir).set(agent, keyName, new Secret(value), "");
  const secret = openSecrets(dir).get(agent, keyName);
  expect(secret?.reveal()).toBe(value);
  expect(`${secret} ${inspect(secret)} ${JSON.stringify(secret)}`).not.toContain(value);
  expect(openSecrets(dir).names(agent)).toEqual([keyName]);
  expect(
    openSecrets(dir)
      .all()
      .map((each) => each.reveal()),
  ).toEqual([value]);
});

test("a missing secret is undefined, whatever its name, and reading creates no file", () => {
  const dir = scratch();
  expect(openSecrets(dir).get(agent, keyName)).toBeUndefined();
  expect(openSecrets(dir).get(agent, "constructor")).toBeUndefined();
  expect(openSecrets(dir).names(provider)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

test("the same value again changes nothing; another keeps the day it was made", async () => {
  const dir = scratch();
  await openSecrets(dir, at("2025-01-01T00:00:00Z")).set(agent, keyName, new Secret(value), "d");
  const before = fileIn(dir);
  await openSecrets(dir, at("2025-02-01T00:00:00Z")).set(agent, keyName, new Secret(value), "d");
  expect(fileIn(dir)).toEqual(before);
  await openSecrets(dir, at("2025-03-01T00:00:00Z")).set(agent, keyName, new Secret("other"), "d");
  expect(fileIn(dir)["wolf-i:hermes:hermes-test"][keyName]).toMatchObject({
    value: "other",
    created_at: "2025-01-01T00:00:00.000Z",
    updated_at: "2025-03-01T00:00:00.000Z",
  });
});

test.each(["", "has space", "1ST", "A-B", "a:b", "__proto__"])("%j cannot be a secret's name", async (name) => {
  const fault = await faultOf(() => openSecrets(scratch()).set(agent, name, new Secret(value), ""));
  expect(fault.fault).toBe("bad-input");
});

test.each([0o640, 0o604, 0o620, 0o601, 0o666])(
  "a file of mode %o is refused until the hint is followed",
  async (mode) => {
    const dir = scratch();
    const path = join(dir, "secrets.json");
    const secrets = openSecrets(dir);
    await secrets.set(agent, keyName, new Secret(value), "");
    chmodSync(path, mode);
    for (const work of [() => secrets.get(agent, keyName), () => secrets.set(agent, "OTHER", new Secret("x"), "")]) {
      const fault = await faultOf(work);
      expect(fault.fault).toBe("state-exposed");
      expect(fault.next).toEqual([`chmod 600 ${path}`]);
    }
    execFileSync("sh", ["-c", `chmod 600 ${path}`]);
    expect(secrets.get(agent, keyName)?.reveal()).toBe(value);
  },
);

test("a symbolic link is refused", async () => {
  const dir = scratch();
  writeFileSync(join(dir, "elsewhere"), "{}", { mode: 0o600 });
  symlinkSync(join(dir, "elsewhere"), join(dir, "secrets.json"));
  expect((await faultOf(() => openSecrets(dir).all())).message).toContain("symbolic link");
  expect((await faultOf(() => openSecrets(dir).set(agent, keyName, new Secret(value), ""))).message).toContain("link");
  expect(readFileSync(join(dir, "elsewhere"), "utf8")).toBe("{}");
});

test.each([
  ["broken JSON", `{"version": 1, "a:b:c": {"K": {"value": "${value}" oops`],
  ["broken JSON at its beginning", `${value}`],
  ["a wrong shape", JSON.stringify({ version: 1, "a:b:c": { K: value } })],
  ["a wrong version", JSON.stringify({ version: value })],
])("%s is reported without the secret", async (_, text) => {
  const dir = scratch();
  writeFileSync(join(dir, "secrets.json"), text, { mode: 0o600 });
  const fault = await faultOf(() => openSecrets(dir).get(agent, keyName));
  expect(fault.fault).toBe("state-corrupt");
  expect(inspect(fault, { depth: 9 }) + JSON.stringify(fault)).not.toContain(value);
});

test("a file that Clawrium wrote is understood, and what we do not know in it survives", async () => {
  const dir = scratch();
  const entry = { key: "K", value, created_at: "2025", updated_at: "2025", description: null };
  const theirs = { "wolf-i:hermes:hermes-test": { K: entry }, __global__: {}, "channel:x": { BOT_TOKEN: entry } };
  writeFileSync(join(dir, "secrets.json"), JSON.stringify(theirs), { mode: 0o600 });
  expect(openSecrets(dir).get(agent, "K")?.reveal()).toBe(value);
  await openSecrets(dir).set(provider, "API_KEY", new Secret("x"), "");
  expect(fileIn(dir)).toMatchObject({ version: 1, ...theirs });
  expect(existsSync(join(dir, "backups/secrets.json.v0"))).toBe(true);
});

async function filled(dir: string) {
  const secrets = openSecrets(dir);
  const bear: SecretOwner = { host: "bear", type: "hermes", agent: "h1" };
  await secrets.set(agent, keyName, new Secret("wolf-1"), "");
  await secrets.set({ host: "wolf-i", type: "hermes", agent: "h2" }, keyName, new Secret("wolf-2"), "");
  await secrets.set(bear, keyName, new Secret("bear-1"), "");
  await secrets.set({ provider: "wolf-i" }, "API_KEY", new Secret("provider-1"), "");
  return { secrets, bear };
}
const keysIn = (dir: string) => Object.keys(fileIn(dir)).filter((key) => key !== "version");
const everythingIn = (dir: string) =>
  [join(dir, "secrets.json"), ...readdirSync(join(dir, "backups")).map((name) => join(dir, "backups", name))]
    .map((path) => readFileSync(path, "utf8"))
    .join();

test("an instance is forgotten, in the backups too, and the others stay", async () => {
  const dir = scratch();
  const { secrets } = await filled(dir);
  await secrets.remove(agent);
  expect(keysIn(dir)).toEqual(["wolf-i:hermes:h2", "bear:hermes:h1", "provider:wolf-i"]);
  expect(everythingIn(dir)).not.toContain("wolf-1");
});

test("a host is forgotten with all its agents, and a provider of the same name is not", async () => {
  const dir = scratch();
  const { secrets } = await filled(dir);
  await secrets.removeHost("wolf-i");
  expect(keysIn(dir)).toEqual(["bear:hermes:h1", "provider:wolf-i"]);
  expect(everythingIn(dir)).not.toMatch(/wolf-[12]"/);
});

test("a renamed host takes its secrets along, and doing it again changes nothing", async () => {
  const dir = scratch();
  const { secrets } = await filled(dir);
  await secrets.renameHost("wolf-i", "fox");
  expect(keysIn(dir)).toEqual(["fox:hermes:hermes-test", "fox:hermes:h2", "bear:hermes:h1", "provider:wolf-i"]);
  expect(secrets.get({ ...agent, host: "fox" }, keyName)?.reveal()).toBe("wolf-1");
  const before = fileIn(dir);
  await secrets.renameHost("wolf-i", "fox");
  expect(fileIn(dir)).toEqual(before);
});

test("a rename never puts one secret in another's place", async () => {
  const dir = scratch();
  const { secrets, bear } = await filled(dir);
  await secrets.set({ ...bear, host: "wolf-i" }, keyName, new Secret("wolf-3"), "");
  const before = fileIn(dir);
  expect((await faultOf(() => secrets.renameHost("wolf-i", "bear"))).fault).toBe("already-exists");
  expect(fileIn(dir)).toEqual(before);
});
