import { describe, expect, test } from "vitest";
import { untrusted, wrongFingerprint } from "../../../../src/remote/host-keys/faults.js";
import { formatKey, parsePublicKey } from "../../../../src/remote/host-keys/key.js";
import { type KnownHostsEntry, parseKnownHosts } from "../../../../src/remote/host-keys/known-hosts.js";
import { key, keys, withKeys } from "./cases.js";

const target = { name: "wolf-i", address: "wolf" };
const settings = { hostname: "host.example", port: 2222 };
const offered = key("ed1");
const [shown, pinned] = [keys.ed1?.fingerprint, keys.ed2?.fingerprint];
const entries = (text: string): KnownHostsEntry[] => parseKnownHosts(withKeys(text), "/home/me/known_hosts").entries;

describe("a key that is not known", () => {
  test("names the presented key and the command to pin it", () => {
    const fault = untrusted(target, settings, { kind: "unknown", offered });
    expect(fault.fault).toBe("host-key-unknown");
    expect(fault.message).toContain("wolf-i at [host.example]:2222");
    expect(fault.why.join()).toContain(shown);
    expect(fault.next).toEqual(["clm host trust wolf-i"]);
  });

  test("carries the key, so that a caller can pin it", () => {
    const { data } = untrusted(target, settings, { kind: "unknown", offered });
    expect(data).toMatchObject({
      alias: "wolf-i",
      offered: formatKey(offered),
      offeredFingerprint: shown,
      expected: [],
    });
    expect(parsePublicKey(String(data.offered))).toEqual(offered);
  });

  test("of a jump host is made known with ssh", () => {
    const hop = { name: "[gw]:2200", address: "gw", port: 2200, jump: true };
    const fault = untrusted(hop, { hostname: "gw.example", port: 2200 }, { kind: "unknown", offered });
    expect(fault.next).toEqual(["ssh -p 2200 gw.example"]);
  });
});

describe("a key that changed", () => {
  test("names both fingerprints and the command that re-pins", () => {
    const found = { kind: "changed", where: "clm", offered, expected: [key("ed2")] } as const;
    const fault = untrusted(target, settings, { ...found, expected: [...found.expected] });
    expect(fault.fault).toBe("host-key-changed");
    expect(fault.why.join("\n")).toContain(shown);
    expect(fault.why.join("\n")).toContain(pinned);
    expect(fault.next).toEqual(["clm host trust wolf-i"]);
    expect(fault.data).toMatchObject({ expected: [keys.ed2?.line], expectedFingerprints: [pinned] });
  });

  test("against the user's file names the line and the command to remove it", () => {
    const expected = entries("\n[host.example]:2222 <ed2>\n[host.example]:2222 <rsa>\n");
    const fault = untrusted(target, settings, { kind: "changed", where: "user", offered, expected });
    expect(fault.why.join("\n")).toContain("/home/me/known_hosts, line 2");
    expect(fault.why.join("\n")).toContain("/home/me/known_hosts, line 3");
    expect(fault.next).toEqual(["ssh-keygen -f /home/me/known_hosts -R '[host.example]:2222'"]);
  });

  test("against the user's file under a HostKeyAlias takes out the alias", () => {
    const expected = entries("web <ed2>\n");
    const fault = untrusted(
      target,
      { ...settings, hostKeyAlias: "Web" },
      { kind: "changed", where: "user", offered, expected },
    );
    expect(fault.next).toEqual(["ssh-keygen -f /home/me/known_hosts -R 'web'"]);
  });
});

test("a revoked key is reported with the line that revokes it", () => {
  const [entry] = entries("# x\n@revoked * <ed1>\n");
  if (!entry) throw new Error("no entry");
  const fault = untrusted(target, settings, { kind: "revoked", where: "user", offered, entry });
  expect(fault.fault).toBe("host-key-revoked");
  expect(fault.why.join("\n")).toContain("/home/me/known_hosts, line 2");
  expect(fault.data).toMatchObject({ revoked: { file: "/home/me/known_hosts", line: 2 } });
});

test("an expected fingerprint that was not presented is reported with both", () => {
  const fault = wrongFingerprint(target, pinned ?? "", offered);
  expect(fault.fault).toBe("host-key-changed");
  expect(fault.why.join("\n")).toContain(shown);
  expect(fault.why.join("\n")).toContain(pinned);
});
