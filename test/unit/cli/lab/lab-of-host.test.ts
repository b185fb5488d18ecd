import { expect, it } from "vitest";
import { labOf } from "../../../../src/cli/lab/lab-of-host.js";
import { keyPath } from "../../../../src/flows/keypath.js";
import { hostNameFrom } from "../../../../src/names.js";
import type { Host } from "../../../../src/state/hosts.js";

const host: Host = {
  name: hostNameFrom("one-1"),
  address: "198.18.3.11",
  identity: keyPath("/clm", "lab"),
  labels: { lab: "one" },
  added_at: "2026-01-01T00:00:00.000Z",
  sudo: "passwordless",
  agents: {},
};

// A user's own host may have any two properties of a lab host.
it.each<[string, Partial<Host>, string | undefined]>([
  ["as it was added", {}, "one"],
  ["under another name", { name: hostNameFrom("wolf") }, "one"],
  ["with more labels", { labels: { lab: "one", room: "2" } }, "one"],
  ["without the label", { labels: {} }, undefined],
  ["with a label that names no lab", { labels: { lab: "../x" } }, undefined],
  ["elsewhere", { address: "192.0.2.11" }, undefined],
  ["with a key of the user's", { identity: "/home/u/.ssh/id_ed25519" }, undefined],
])("a host %s", (_, change, lab) => expect(labOf({ ...host, ...change }, "/clm")).toBe(lab));
