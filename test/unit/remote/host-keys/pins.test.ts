import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isFault } from "../../../../src/errors.js";
import { copyPin, pin, readPins, readRevoked, unpin } from "../../../../src/remote/host-keys/pins.js";
import { key, keyName, keys, scratch, sshKeygen, withKeys } from "./cases.js";

function given(text?: string) {
  const configDir = scratch();
  const path = join(configDir, "known_hosts");
  if (text !== undefined) writeFileSync(path, withKeys(text));
  return { configDir, path, text: () => readFileSync(path, "utf8") };
}

const pinned = async (configDir: string, alias: string) =>
  (await readPins(configDir, alias)).map((k) => keyName(k.blob));

describe("pinning", () => {
  test("makes a file only its owner can read, one line per host", async () => {
    const { configDir, path, text } = given();
    await pin(configDir, "wolf-i", key("ed1"));
    await pin(configDir, "[gw.example]:2200", key("rsa"));
    expect(text()).toBe(withKeys("wolf-i <ed1>\n[gw.example]:2200 <rsa>\n"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await pinned(configDir, "wolf-i")).toEqual(["ed1"]);
    expect(await pinned(configDir, "[gw.example]:2200")).toEqual(["rsa"]);
  });

  test("replaces the alias' keys and nothing else", async () => {
    const { configDir, text } = given("# mine\nwolf-i <ed1>\nwolf-ii <ed1>\nwolf-i <rsa>\n@revoked wolf-i <ecdsa>\n");
    await pin(configDir, "wolf-i", key("ed2"));
    expect(text()).toBe(withKeys("# mine\nwolf-ii <ed1>\n@revoked wolf-i <ecdsa>\nwolf-i <ed2>\n"));
  });

  test("the same key again writes nothing", async () => {
    const { configDir, path } = given("wolf-i <ed1>\nother <ed2>\n");
    const before = statSync(path, { bigint: true });
    await pin(configDir, "wolf-i", key("ed1"));
    const after = statSync(path, { bigint: true });
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  });

  test("at the same time loses nothing", async () => {
    const { configDir } = given();
    const names = Array.from({ length: 20 }, (_, n) => `host-${n}`);
    await Promise.all(names.map((name) => pin(configDir, name, key("ed1"))));
    for (const name of names) expect(await readPins(configDir, name)).toHaveLength(1);
  });

  test("is visible at once to earlier readers of the file", async () => {
    const { configDir } = given("wolf-i <ed1>\n");
    expect(await pinned(configDir, "wolf-i")).toEqual(["ed1"]);
    await pin(configDir, "wolf-i", key("ed2"));
    expect(await pinned(configDir, "wolf-i")).toEqual(["ed2"]);
  });

  test.each(["a b", "a,b", "*", "!a", "|1|x|y", "#a", "@revoked", "", "a\nb"])(
    "%j cannot be an alias",
    async (alias) => {
      const { configDir, path } = given();
      await expect(pin(configDir, alias, key("ed1"))).rejects.toSatisfy((error) => isFault(error, "bug"));
      expect(existsSync(path)).toBe(false);
    },
  );

  test("an invalid key is not written", async () => {
    const { configDir, path } = given();
    const odd = { type: "ssh-ed25519", blob: Buffer.from("odd") };
    await expect(pin(configDir, "wolf-i", odd)).rejects.toSatisfy((error) => isFault(error, "bug"));
    expect(existsSync(path)).toBe(false);
  });

  test("OpenSSH finds the written pins", async () => {
    const { configDir, path } = given();
    await pin(configDir, "wolf-i", key("ed1"));
    await pin(configDir, "[fe80::1]:2200", key("ecdsa"));
    expect(sshKeygen("-l", "-F", "wolf-i", "-f", path)).toContain(keys.ed1?.fingerprint);
    expect(sshKeygen("-l", "-F", "[fe80::1]:2200", "-f", path)).toContain(keys.ecdsa?.fingerprint);
  });
});

describe("unpinning", () => {
  test("takes out the alias and leaves the rest", async () => {
    const { configDir, text } = given("wolf-i <ed1>\nother <ed2>\nwolf-i <rsa>\n");
    await unpin(configDir, "wolf-i");
    expect(text()).toBe(withKeys("other <ed2>\n"));
  });

  test("removing an unknown name changes nothing", async () => {
    const { configDir, path } = given();
    await unpin(configDir, "wolf-i");
    expect(existsSync(path)).toBe(false);
  });
});

describe("copying", () => {
  test("copies all keys to the new name, replacing its own, and keeps the old one's", async () => {
    const { configDir, text } = given("wolf-i <ed1>\nwolf-j <ed2>\nother <ed2>\nwolf-i <rsa>\n");
    await copyPin(configDir, "wolf-i", "wolf-j");
    expect(text()).toBe(withKeys("wolf-i <ed1>\nother <ed2>\nwolf-i <rsa>\nwolf-j <ed1>\nwolf-j <rsa>\n"));
  });

  test("of a name without keys keeps the pins of the new one", async () => {
    const { configDir } = given("wolf-j <ed1>\n");
    await copyPin(configDir, "wolf-i", "wolf-j");
    expect(await pinned(configDir, "wolf-j")).toEqual(["ed1"]);
  });
});

describe("reading", () => {
  test("no file is no pins", async () => {
    expect(await readPins(join(scratch(), "nowhere"), "wolf-i")).toEqual([]);
  });

  test("names are compared as OpenSSH does, whole and without case", async () => {
    const { configDir } = given("Wolf-I <ed1>\nwolf <ed2>\n");
    expect(await pinned(configDir, "wolf-i")).toEqual(["ed1"]);
    expect(await pinned(configDir, "wol")).toEqual([]);
  });

  test("revocations are not pins", async () => {
    const { configDir } = given("@revoked wolf-* <ed1>\nwolf-i <ed2>\n@cert-authority * <rsa>\n");
    expect(await pinned(configDir, "wolf-i")).toEqual(["ed2"]);
    expect((await readRevoked(configDir, "wolf-i")).map((k) => keyName(k.blob))).toEqual(["ed1"]);
    expect(await readRevoked(configDir, "other")).toEqual([]);
  });

  const corrupt = expect.toSatisfy((error) => isFault(error, "state-corrupt"));

  test.each([
    ["half a key", "wolf-i ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIu3\n"],
    ["no key", "wolf-i\n"],
    ["garbage after a good line", "wolf-i <ed1>\n\u0000\u0000\n"],
    ["a list", "wolf-i,wolf-j <ed1>\n"],
    ["a pattern", "* <ed1>\n"],
    ["a hashed name", "|1|AAECAwQFBgcICQoLDA0ODxAREhM=|IZ1zV0swCfFUvwvqRtiJbYJ0/LA= <ed1>\n"],
    ["JSON", "{}\n"],
  ])("a file with %s trusts no host and is not overwritten", async (_, content) => {
    const { configDir, text } = given(content);
    await expect(readPins(configDir, "wolf-i")).rejects.toEqual(corrupt);
    await expect(readPins(configDir, "other")).rejects.toEqual(corrupt);
    await expect(readRevoked(configDir, "wolf-i")).rejects.toEqual(corrupt);
    await expect(pin(configDir, "wolf-i", key("ed1"))).rejects.toEqual(corrupt);
    expect(text()).toBe(withKeys(content));
  });

  test("the fault names the line and the command that takes it out", async () => {
    const { configDir, path } = given("wolf-i <ed1>\n\nwolf-j\n");
    const fault = await readPins(configDir, "wolf-i").catch((error) => error);
    expect(fault.message).toContain("line 3");
    expect(fault.next).toEqual([`sed -i 3d ${path}`]);
  });

  test("a file that cannot be read is a fault", async () => {
    const { configDir, path } = given();
    mkdirSync(path);
    await expect(readPins(configDir, "wolf-i")).rejects.toEqual(corrupt);
    await expect(pin(configDir, "wolf-i", key("ed1"))).rejects.toEqual(corrupt);
  });
});
