import { describe, expect, it } from "vitest";
import { address, freeSubnet, gateway, isLabAddress, knownNetworks } from "../../../src/lab/subnet.js";
import { maxHosts } from "../../../src/lab/types.js";

describe("a free subnet", () => {
  const cases: { name: string; known?: string[]; recorded?: number[]; free: number }[] = [
    { name: "on a machine that knows nothing of it", known: ["192.0.2.2/24", "10.0.0.0/8"], free: 1 },
    { name: "beside a lab that is up", known: ["198.18.1.1/24"], free: 2 },
    { name: "beside a lab that is only recorded", recorded: [1, 2], free: 3 },
    { name: "in a gap", known: ["198.18.1.1/24", "198.18.3.1/24"], recorded: [4], free: 2 },
    { name: "beside a larger network", known: ["198.18.0.0/20"], free: 16 },
    { name: "beside a smaller one, and a single address", known: ["198.18.1.128/25", "198.18.2.9"], free: 3 },
    { name: "where a default route says nothing", known: ["default", "::/0", "fe80::1/64"], free: 1 },
  ];
  it.each(cases)("$name", ({ known = [], recorded = [], free }) => {
    expect(freeSubnet(known, recorded)).toBe(free);
  });

  it("is refused when all are taken", () => {
    expect(() => freeSubnet(["198.18.0.0/15"], [])).toThrow("no free subnet");
  });
});

it("gives every host an address of the subnet that is not the machine's own", () => {
  const all = Array.from({ length: maxHosts }, (_, at) => address(7, at + 1));
  expect(new Set([...all, gateway(7)]).size).toBe(maxHosts + 1);
  expect([all[0], all.at(-1)]).toEqual(["198.18.7.11", "198.18.7.254"]);
});

it.each([
  [address(7, 3), true],
  ["198.19.7.13", false],
  ["1.198.18.7", false],
  ["198.18.7.13.example.org", false],
])("%s is where only labs are: %s", (text, isLabs) => expect(isLabAddress(text)).toBe(isLabs));

it("reads networks from what ip prints", () => {
  const addresses = JSON.stringify([
    { ifname: "lo", addr_info: [{ family: "inet", local: "127.0.0.1", prefixlen: 8 }] },
    { ifname: "ifb0", addr_info: [] },
    { ifname: "clm1", addr_info: [{ family: "inet", local: "198.18.1.1", prefixlen: 24 }] },
  ]);
  const routes = JSON.stringify([{ dst: "default", gateway: "192.0.2.1" }, { dst: "198.18.8.0/22" }, {}]);
  expect(knownNetworks(addresses, routes)).toEqual(["127.0.0.1/8", "198.18.1.1/24", "198.18.8.0/22"]);
  expect(knownNetworks("", "")).toEqual([]);
});
