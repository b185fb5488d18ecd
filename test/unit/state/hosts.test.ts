import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hostNameFrom } from "../../../src/names.js";
import { findHost, type Host, hasLabels, hostStore } from "../../../src/state/hosts.js";
import { selectHosts } from "../../../src/state/select-hosts.js";
import { sampleAgent } from "./sample-agent.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const host = (name: string, labels: Record<string, string> = {}): Host => ({
  name: hostNameFrom(name),
  address: "192.0.2.1",
  labels,
  added_at: "2025-01-01T00:00:00.000Z",
  sudo: "passwordless",
  agents: {},
});

const fleet = [
  host("wolf-i", { rack: "b2", gpu: "yes" }),
  host("wolf-ii", { rack: "b2" }),
  host("lab-1", { rack: "c1" }),
  host("lab-2"),
  host("a.b"),
];
const names = (hosts: Host[]) => hosts.map(({ name }) => name);

test("a host is written and read unchanged, agents included", async () => {
  const dir = scratch();
  const full: Host = {
    ...host("wolf-i", { rack: "b2" }),
    port: 2222,
    user: "ada",
    identity: "/home/ada/.ssh/id_ed25519",
    facts: {
      os: "debian",
      os_version: "12",
      os_name: "Debian GNU/Linux 12 (bookworm)",
      arch: "x86_64",
      kernel: "6.1.0",
      hostname: "wolf",
      cpus: 8,
      memory_mb: 15900,
      disk_total_mb: 500_000,
      disk_free_mb: 300_000,
      systemd: 252,
      gpu: ["nvidia"],
      seen_at: "2025-01-01T00:00:00.000Z",
    },
    agents: {
      "hermes-test": sampleAgent("hermes-test"),
    },
  };
  await hostStore(dir).update((file) => ({ ...file, hosts: [full] }));
  expect(hostStore(dir).read().hosts).toEqual([full]);
  expect(JSON.parse(readFileSync(join(dir, "hosts.json"), "utf8"))).toEqual({ version: 1, hosts: [full] });
});

test.each([
  ["a port that is none", { ...host("x"), port: 70_000 }, "hosts[0].port should be a whole number from 1 to 65535"],
  ["an unknown kind of sudo", { ...host("x"), sudo: "maybe" }, "hosts[0].sudo should be one of root, passwordless"],
  [
    "an agent without a type",
    { ...host("x"), agents: { "my agent": {} } },
    'hosts[0].agents["my agent"].type is missing',
  ],
])("%s is named", async (_, bad, place) => {
  const dir = scratch();
  writeFileSync(join(dir, "hosts.json"), JSON.stringify({ version: 1, hosts: [bad] }));
  expect((await faultOf(() => hostStore(dir).read())).why.join("\n")).toContain(place);
});

test("two hosts of one name are refused", async () => {
  const dir = scratch();
  writeFileSync(join(dir, "hosts.json"), JSON.stringify({ version: 1, hosts: [host("x"), host("x")] }));
  expect((await faultOf(() => hostStore(dir).read())).why.join("\n")).toContain("each host once");
});

test("a host is found by its name, and a mistyped one is guessed", async () => {
  expect(findHost(fleet, "lab-1").name).toBe("lab-1");
  const fault = await faultOf(() => findHost(fleet, "wofl-i"));
  expect(fault.fault).toBe("not-found");
  expect(fault.why).toEqual(["did you mean 'wolf-i'?"]);
  expect(fault.next).toEqual(["clm host list"]);
  expect((await faultOf(() => findHost(fleet, "zebra"))).why).toEqual([]);
  expect((await faultOf(() => findHost([], "zebra"))).why).toEqual(["no host has been added yet"]);
});

test.each<[string[], [string, string][], string[]]>([
  [[], [], ["wolf-i", "wolf-ii", "lab-1", "lab-2", "a.b"]],
  [["lab-2"], [], ["lab-2"]],
  [["lab-*"], [], ["lab-1", "lab-2"]],
  [["*"], [], ["wolf-i", "wolf-ii", "lab-1", "lab-2", "a.b"]],
  [["wolf-?"], [], ["wolf-i"]],
  [["*i", "wolf-i"], [], ["wolf-i", "wolf-ii"]],
  [["lab-2", "wolf-i"], [], ["wolf-i", "lab-2"]],
  [["a.b"], [], ["a.b"]],
  [[], [["rack", "b2"]], ["wolf-i", "wolf-ii"]],
  [
    ["*"],
    [
      ["rack", "b2"],
      ["gpu", "yes"],
    ],
    ["wolf-i"],
  ],
  [["*-1"], [["rack", "c1"]], ["lab-1"]],
])("%j with labels %j selects %j", (patterns, labels, expected) => {
  expect(names(selectHosts(fleet, patterns, labels))).toEqual(expected);
});

test.each<[string[], [string, string][], string]>([
  [["nope"], [], "'nope'"],
  [["lab-1", "nope-*"], [], "'nope-*'"],
  // A dot is a dot, and nothing of a regular expression means anything.
  [["a?b?"], [], "'a?b?'"],
  [["lab.1"], [], "'lab.1'"],
  [["(lab|wolf)-*"], [], "'(lab|wolf)-*'"],
  [["[a-z]*"], [], "'[a-z]*'"],
  [["lab-1\\"], [], "lab-1"],
  [[], [["rack", "z9"]], "rack=z9"],
  [["lab-*"], [["gpu", "yes"]], "gpu=yes"],
])("%j with labels %j selects nothing, which is an error", async (patterns, labels, word) => {
  const fault = await faultOf(() => selectHosts(fleet, patterns, labels));
  expect(fault.fault).toBe("not-found");
  expect(fault.message).toContain(word);
});

test("a label that every object seems to have is not one", () => {
  expect(fleet.filter(hasLabels([["constructor", "Object"]]))).toEqual([]);
});
