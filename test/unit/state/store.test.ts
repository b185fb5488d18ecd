import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tryToTake } from "../../../src/state/lock-file.js";
import { thisProcess } from "../../../src/state/process-id.js";
import { list, object, type TypeOf, text, whole } from "../../../src/state/shape.js";
import { jsonStore, type StoreSpec } from "../../../src/state/store.js";
import type { Migration } from "../../../src/state/versions.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const pets = object({ pets: list(object({ name: text, legs: whole(0, 1000) })) });
type Pets = TypeOf<typeof pets>;

const petStore = (dir: string, more: Partial<StoreSpec<Pets>> = {}) =>
  jsonStore<Pets>({ dir, file: "pets.json", version: 1, shape: pets, empty: () => ({ pets: [] }), ...more });

const adding =
  (name: string) =>
  (file: Pets): Pets => ({ ...file, pets: [...file.pets, { name, legs: 4 }] });
const textOf = (dir: string) => readFileSync(join(dir, "pets.json"), "utf8");
const put = (dir: string, content: unknown) =>
  writeFileSync(join(dir, "pets.json"), typeof content === "string" ? content : JSON.stringify(content));
const backupsIn = (dir: string) => (existsSync(join(dir, "backups")) ? readdirSync(join(dir, "backups")).sort() : []);

test("content is read back unchanged, with its version first and indented", async () => {
  const dir = scratch();
  expect(await petStore(dir).update(adding("rex"))).toEqual({ pets: [{ name: "rex", legs: 4 }] });
  expect(petStore(dir).read()).toEqual({ pets: [{ name: "rex", legs: 4 }] });
  expect(textOf(dir)).toMatch(/^\{\n {2}"version": 1,\n/);
  expect(statSync(join(dir, "pets.json")).mode & 0o777).toBe(0o600);
});

test("an update that changes nothing writes nothing, however the file is laid out", async () => {
  const dir = scratch();
  put(dir, { pets: [{ legs: 4, name: "rex" }], version: 1 });
  const touched = () => lstatSync(join(dir, "pets.json")).ctimeMs;
  const before = touched();
  await petStore(dir).update((file) => ({ ...file, pets: file.pets.map((pet) => ({ ...pet })) }));
  expect(touched()).toBe(before);
  expect(backupsIn(dir)).toEqual([]);
});

test.each<[string, (file: Pets) => Pets]>([
  ["in place", (file) => Object.assign(file, { pets: [] })],
  [
    "deep in place, under a new top",
    (file) => {
      for (const pet of file.pets) pet.legs = 3;
      return { ...file };
    },
  ],
  ["as a copy", (file) => ({ ...file, pets: file.pets.map((pet) => ({ ...pet, legs: 3 })) })],
])("a change made %s is written", async (_, change) => {
  const dir = scratch();
  await petStore(dir).update(adding("rex"));
  const changed = await petStore(dir).update(change);
  expect(changed).not.toEqual({ pets: [{ name: "rex", legs: 4 }] });
  expect(petStore(dir).read()).toEqual(changed);
});

test("an update of nothing to nothing makes no file", async () => {
  const dir = scratch();
  await petStore(dir).update((file) => file);
  expect(existsSync(join(dir, "pets.json"))).toBe(false);
});

test("fields that this clm does not know survive, on every level", async () => {
  const dir = scratch();
  put(dir, { version: 1, zoo: "north", pets: [{ name: "rex", legs: 4, colour: { fur: "red" } }] });
  await petStore(dir).update((file) => {
    for (const pet of file.pets) pet.legs = 3;
    return adding("tom")(file);
  });
  expect(JSON.parse(textOf(dir))).toEqual({
    version: 1,
    zoo: "north",
    pets: [
      { name: "rex", legs: 3, colour: { fur: "red" } },
      { name: "tom", legs: 4 },
    ],
  });
});

test("a change that throws leaves the file unchanged", async () => {
  const dir = scratch();
  await petStore(dir).update(adding("rex"));
  const before = textOf(dir);
  const broken = petStore(dir).update(() => {
    throw new Error("no");
  });
  await expect(broken).rejects.toThrow("no");
  expect(textOf(dir)).toBe(before);
});

test("a change that would break the file is not written", async () => {
  const dir = scratch();
  await petStore(dir).update(adding("rex"));
  const fault = await faultOf(() => petStore(dir).update((file) => ({ ...file, pets: [{ name: "odd", legs: -1 }] })));
  expect(fault.fault).toBe("bug");
  expect(petStore(dir).read().pets).toHaveLength(1);
});

test.each([
  ["JSON that breaks", '{\n  "version": 1,\n  "pets": [,]\n}', "line 3, column 12"],
  ["a file cut short", '{"version": 1, "pets": [', "line 1, column 25"],
  ["an empty file", "", "empty"],
  ["a list", "[]", "a list"],
  ["no version", { pets: [] }, "version is missing"],
  ["a version that is no number", { version: "1", pets: [] }, "version should be"],
  ["a version before the first", { version: 0, pets: [] }, "version 0"],
  ["a missing field", { version: 1, pets: [{ name: "rex", legs: 4 }, { name: "tom" }] }, "pets[1].legs is missing"],
  ["a wrong type", { version: 1, pets: {} }, "pets should be a list"],
  [
    "a value out of bounds",
    { version: 1, pets: [{ name: "rex", legs: -1 }] },
    "pets[0].legs should be a whole number from 0",
  ],
])("%s is a fault that names file and place", async (_, content, place) => {
  const dir = scratch();
  put(dir, content);
  const before = textOf(dir);
  for (const work of [() => petStore(dir).read(), () => petStore(dir).update(adding("tom"))]) {
    const fault = await faultOf(work);
    expect(fault.fault).toBe("state-corrupt");
    expect(fault.message).toContain(join(dir, "pets.json"));
    expect(fault.why.join("\n")).toContain(place);
    expect(fault.why.join("\n")).toContain("no good backup");
  }
  expect(textOf(dir)).toBe(before);
});

test("the hint brings back the newest good backup, passing over bad ones", async () => {
  const dir = scratch();
  const store = petStore(dir);
  for (const name of ["a", "b", "c", "d"]) await store.update(adding(name));
  expect(backupsIn(dir)).toEqual(["pets.json.1", "pets.json.2", "pets.json.3"]);
  writeFileSync(join(dir, "backups/pets.json.3"), "{");
  put(dir, "{");
  const fault = await faultOf(() => store.read());
  expect(fault.next).toEqual([`cp ${dir}/backups/pets.json.2 ${dir}/pets.json`]);
  execFileSync("sh", ["-c", fault.next[0] ?? ""]);
  expect(store.read().pets.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("another name of the broken file itself is not offered as its backup", async () => {
  const dir = scratch();
  put(dir, "{");
  mkdirSync(join(dir, "backups"));
  linkSync(join(dir, "pets.json"), join(dir, "backups/pets.json.7"));
  expect((await faultOf(() => petStore(dir).read())).why).toContain("there is no good backup of it");
});

test("the hint can be pasted when the path has spaces", async () => {
  const dir = join(scratch(), "my fleet's");
  const store = petStore(dir);
  await store.update(adding("a"));
  await store.update(adding("b"));
  put(dir, "{");
  const fault = await faultOf(() => store.read());
  execFileSync("sh", ["-c", fault.next[0] ?? ""]);
  expect(store.read().pets).toHaveLength(1);
});

test("the last five copies are kept, closed to others", async () => {
  const dir = scratch();
  const store = petStore(dir);
  for (let n = 0; n < 12; n++) await store.update(adding(`pet-${n}`));
  expect(backupsIn(dir)).toEqual(["pets.json.10", "pets.json.11", "pets.json.7", "pets.json.8", "pets.json.9"]);
  expect(statSync(join(dir, "backups")).mode & 0o777).toBe(0o700);
  for (const name of backupsIn(dir)) expect(statSync(join(dir, "backups", name)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(join(dir, "backups/pets.json.11"), "utf8")).pets).toHaveLength(11);
});

test("a file that was open to others is closed in its backup too", async () => {
  const dir = scratch();
  put(dir, { version: 1, pets: [] });
  chmodSync(join(dir, "pets.json"), 0o644);
  await petStore(dir).update(adding("rex"));
  expect(statSync(join(dir, "backups/pets.json.1")).mode & 0o777).toBe(0o600);
});

test("a newer file is left alone, read or written", async () => {
  const dir = scratch();
  put(dir, { version: 2, pets: "something else by then" });
  const before = textOf(dir);
  for (const work of [() => petStore(dir).read(), () => petStore(dir).update(adding("tom"))]) {
    const fault = await faultOf(work);
    expect(fault.fault).toBe("state-newer");
    expect(fault.message).toContain(join(dir, "pets.json"));
  }
  expect(textOf(dir)).toBe(before);
});

const migrations: Record<number, Migration> = {
  0: ({ names, ...rest }) => ({ ...rest, pets: (names as string[]).map((name) => ({ name })) }),
  1: ({ pets: old, ...rest }) => ({ ...rest, pets: (old as { name: string }[]).map((pet) => ({ ...pet, legs: 4 })) }),
};

test.each([
  [1, { version: 1, zoo: "north", pets: [{ name: "rex" }] }],
  [0, { zoo: "north", names: ["rex"] }],
])("a file of version %i is read as the current one, and kept before it is rewritten", async (version, old) => {
  const dir = scratch();
  const store = petStore(dir, { version: 2, migrations });
  put(dir, old);
  const before = textOf(dir);
  expect(store.read()).toEqual({ zoo: "north", pets: [{ name: "rex", legs: 4 }] });
  expect(textOf(dir)).toBe(before);

  await store.update(adding("tom"));
  expect(JSON.parse(textOf(dir))).toMatchObject({ version: 2, zoo: "north", pets: [{ name: "rex" }, { name: "tom" }] });
  for (let n = 0; n < 6; n++) await store.update(adding(`pet-${n}`));
  expect(readFileSync(join(dir, `backups/pets.json.v${version}`), "utf8")).toBe(before);
});

test.each<[string, Migration]>([
  ["whose result is wrong", () => ({ pets: "all gone" })],
  ["that does not understand what it finds", ({ cages }) => ({ pets: (cages as string[]).map((name) => ({ name })) })],
])("a migration %s changes nothing", async (_, migration) => {
  const dir = scratch();
  const store = petStore(dir, { version: 2, migrations: { 1: migration } });
  put(dir, { version: 1, pets: [] });
  const before = textOf(dir);
  expect((await faultOf(() => store.update(adding("tom")))).fault).toBe("state-corrupt");
  expect(textOf(dir)).toBe(before);
});

test("a symbolic link is refused, and so is anything that is no file", async () => {
  const dir = scratch();
  writeFileSync(join(dir, "elsewhere"), '{"version": 1, "pets": []}');
  symlinkSync(join(dir, "elsewhere"), join(dir, "pets.json"));
  expect((await faultOf(() => petStore(dir).read())).message).toContain("symbolic link");
  expect((await faultOf(() => petStore(dir).update(adding("x")))).message).toContain("symbolic link");

  const other = scratch();
  execFileSync("mkfifo", [join(other, "pets.json")]);
  expect((await faultOf(() => petStore(other).read())).fault).toBe("state-corrupt");
});

test("a writer that lost the lock writes nothing", async () => {
  const dir = scratch();
  await petStore(dir).update(adding("rex"));
  const before = textOf(dir);
  const owner = { ...thisProcess(), host: "box", user: "ada", command: "clm", since: "" };
  const fault = await faultOf(() =>
    petStore(dir).update((file) => {
      tryToTake(join(dir, "locks/pets"), { owner, expiry: 0, isStuck: () => true });
      return adding("tom")(file);
    }),
  );
  expect(fault.fault).toBe("locked");
  expect(textOf(dir)).toBe(before);
});

test("an edit saved during the change is not overwritten", async () => {
  const dir = scratch();
  await petStore(dir).update(adding("rex"));
  const fault = await faultOf(() =>
    petStore(dir).update((file) => {
      put(dir, { version: 1, pets: [] });
      return adding("tom")(file);
    }),
  );
  expect(fault.fault).toBe("locked");
  expect(petStore(dir).read().pets).toEqual([]);
});

test("many updates at once in one process lose none", async () => {
  const dir = scratch();
  await Promise.all(Array.from({ length: 50 }, (_, n) => petStore(dir).update(adding(`pet-${n}`))));
  expect(
    new Set(
      petStore(dir)
        .read()
        .pets.map(({ name }) => name),
    ).size,
  ).toBe(50);
});

test("removed secrets are in no backup either", async () => {
  const dir = scratch();
  const store = petStore(dir);
  for (const name of ["rex", "tom", "kit"]) await store.update(adding(name));
  await store.update((file) => ({ ...file, pets: file.pets.filter(({ name }) => name !== "tom") }), { forget: true });
  const everything = [textOf(dir), ...backupsIn(dir).map((name) => readFileSync(join(dir, "backups", name), "utf8"))];
  expect(everything.join()).not.toContain("tom");
  put(dir, "{");
  execFileSync("sh", ["-c", (await faultOf(() => store.read())).next[0] ?? ""]);
  expect(store.read().pets).toHaveLength(2);
});
