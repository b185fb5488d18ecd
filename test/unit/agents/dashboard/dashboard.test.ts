import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dashboardOf, dashboardWords, isHeld, roomIn } from "../../../../src/agents/dashboard/dashboard.js";
import { manifestSchema } from "../../../../src/agents/manifest/manifest.js";
import { pathsFor, type ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import type { Listener, Observation } from "../../../../src/agents/probe/proof/observation.js";
import { Fault } from "../../../../src/errors.js";

const manifest = manifestSchema.parse(parse(readFileSync("manifests/hermes.yaml", "utf8"), { merge: true }));

const agent = (version: string, dashboard = manifest.dashboard) =>
  ({
    manifest: { ...manifest, dashboard },
    version,
    name: "ada",
    ref: "ada",
    paths: pathsFor(manifest, "ada"),
  }) as ResolvedAgent;

describe("a version's dashboard", () => {
  it.each(Object.keys(manifest.versions))(
    "%s has one, on the loopback alone, and opens no browser there",
    (version) => {
      const words = dashboardWords(agent(version), dashboardOf(agent(version)), 9120);
      expect(words.join(" ")).toBe("/home/ada/.local/bin/hermes dashboard --host 127.0.0.1 --port 9120 --no-open");
    },
  );

  it.each([
    [undefined, "hermes agents have no dashboard", []],
    [
      { ...dashboardOf(agent("2026.7.1")), when: ">=2026.6.5" },
      "ada has no dashboard",
      ["Hermes Agent 2026.5.7 has none; versions >=2026.6.5 do"],
    ],
  ])("is reported as missing", (dashboard, message, why) => {
    const without = { ...agent("2026.5.7"), manifest: { ...manifest, dashboard } } as ResolvedAgent;
    let fault: unknown;
    try {
      dashboardOf(without);
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ fault: "unsupported", message, why });
  });
});

it.each([
  [[], 9119],
  [[9119, 9120, 8642], 9121],
  [Array.from({ length: 81 }, (_, index) => 9119 + index), undefined],
])("takes the first port that is free: %j", (taken, port) => {
  expect(roomIn(dashboardOf(agent("2026.7.1")), taken)).toBe(port);
});

const by = (own: boolean, address: string): Listener => ({ own, address, pid: 7, user: "ada", command: "hermes" });
it.each([
  ["nobody", [], false],
  ["its own, on the loopback", [by(true, "0100007F")], true],
  ["its own, open to all", [by(true, "00000000")], false],
  ["somebody else", [by(false, "0100007F")], false],
  ["its own and somebody else", [by(true, "0100007F"), by(false, "0100007F")], false],
])("its port is held by %s", (_, listeners, held) => {
  expect(isHeld({ listeners, strangers: [] } as unknown as Observation)).toBe(held);
});
