import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Secret } from "../../../src/secret.js";
import { hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { openSecrets } from "../../../src/state/secrets.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

it("a list of hosts or providers is Clawrium's: it is not changed, and the import is named", async () => {
  const dir = scratch();
  for (const [file, store] of [
    ["hosts.json", hostStore(dir)],
    ["providers.json", providerStore(dir)],
  ] as const) {
    writeFileSync(join(dir, file), "[]\n", { mode: 0o600 });
    for (const work of [() => store.read(), () => store.update(() => ({}) as never)]) {
      const fault = await faultOf(work);
      expect(fault).toMatchObject({ fault: "state-corrupt", next: [`clm import clawrium --config-dir ${dir}`] });
    }
    expect(readFileSync(join(dir, file), "utf8")).toBe("[]\n");
  }
});

it("a file of Clawrium's is replaced only while it still reads as it did", async () => {
  const dir = scratch();
  const path = join(dir, "hosts.json");
  writeFileSync(path, "[1]", { mode: 0o600 });
  const store = hostStore(dir);
  expect(await faultOf(() => store.replaceForeign({ hosts: [] }, "[]"))).toMatchObject({ fault: "locked" });
  expect(readFileSync(path, "utf8")).toBe("[1]");
  await store.replaceForeign({ hosts: [] }, "[1]");
  expect(store.read()).toEqual({ hosts: [] });
});

it("secrets are adopted in one write, with their dates, and leave their old keys", async () => {
  const dir = scratch();
  const path = join(dir, "secrets.json");
  const old = { value: "v", created_at: "2025", updated_at: "2025", description: "d" };
  writeFileSync(path, JSON.stringify({ "10.0.0.5:hermes:h1": { K: old }, "provider:kept": { API_KEY: old } }));
  chmodSync(path, 0o600);
  const { value: _, ...dates } = old;
  const wish = { instance: { host: "box", type: "hermes", agent: "h1" }, name: "K", value: new Secret("v"), ...dates };
  const secrets = openSecrets(dir);
  await secrets.adopt([wish], ["10.0.0.5:hermes:h1"]);
  const after = readFileSync(path, "utf8");
  expect(JSON.parse(after)).toEqual({ version: 1, "provider:kept": { API_KEY: old }, "box:hermes:h1": { K: old } });
  await secrets.adopt([wish], ["10.0.0.5:hermes:h1"]);
  expect(readFileSync(path, "utf8")).toBe(after);
});
