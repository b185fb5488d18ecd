import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { onboardingFrom } from "../../../../../src/flows/import/clawrium/convert-agent.js";
import { hostNames, validName } from "../../../../../src/flows/import/clawrium/names.js";
import { oldAgent, oldHosts } from "../../../../../src/flows/import/clawrium/shapes.js";
import { faultOf } from "../../../state/scratch.js";
import { mapped } from "../mapped.js";
import { eras } from "../old-directory.js";

describe.each(eras)("a directory of the %s", (era) => {
  it("becomes what test/cases says", () => {
    const expected = parse(readFileSync(resolve(`test/cases/import/${era}.yaml`), "utf8"));
    expect(JSON.parse(JSON.stringify(mapped(era)))).toEqual(expected);
  });

  it("keeps no secret in what goes to hosts.json and providers.json", () => {
    const { secrets, hosts, providers, rows } = mapped(era);
    const told = JSON.stringify({ hosts, providers, rows });
    for (const value of Object.values(secrets)) expect(told).not.toContain(value);
    expect(Object.keys(secrets).length).toBeGreaterThan(5);
  });

  it("never says that an agent is ready", () => {
    const states = mapped(era).hosts.flatMap(({ agents }) =>
      Object.values(agents).map((each) => each.onboarding.state),
    );
    expect(states.length).toBeGreaterThan(1);
    expect(states).not.toContain("ready");
  });
});

describe("names of hosts", () => {
  it.each([
    ["wolf-i", "wolf-i"],
    ["Wolf I", "wolf-i"],
    ["10.0.0.5", "10.0.0.5"],
    ["fe80::1", "fe80-1"],
    ["--x--", "x"],
    ["ü", "unnamed"],
    ["a".repeat(80), "a".repeat(63)],
  ])("%s becomes %s", (old, name) => expect(validName(old)).toBe(name));

  const hosts = oldHosts.parse([
    { hostname: "10.0.0.1", alias: "a" },
    { hostname: "10.0.0.2", alias: "A", key_id: "second" },
    { hostname: "10.0.0.3", alias: "b" },
  ]);

  it("are told apart when two would be the same, and given ones come first", () => {
    expect(hostNames(hosts, [])).toEqual(["a", "a-2", "b"]);
    expect(hostNames(hosts, ["second=b"])).toEqual(["a", "b", "b-2"]);
    expect(hostNames(hosts, ["10.0.0.3=a"])).toEqual(["a-2", "a-3", "a"]);
  });

  it.each([
    [["nobody=x"], "Clawrium has no host called 'nobody'"],
    [["a"], "'a' does not name a host"],
    [["a=Not Valid"], "'Not Valid' cannot be a host's name"],
    [["a=x", "b=x"], "two hosts would be called x"],
  ])("refuses %j", async (chosen, message) => {
    expect((await faultOf(() => hostNames(hosts, chosen))).message).toBe(message);
  });
});

describe("onboarding", () => {
  const agent = (state: string) =>
    oldAgent.parse({ type: "hermes", version: "2026.5.7", status: "installed", onboarding: { state, stages: {} } });
  it.each([
    ["pending", "providers"],
    ["providers", "providers"],
    ["identity", "identity"],
    ["channels", "channels"],
    ["validate", "validate"],
    ["ready", "validate"],
    ["something else", "providers"],
  ])("%s becomes %s", (old, now) => {
    expect(onboardingFrom(agent(old), true).state).toBe(now);
    expect(onboardingFrom(agent(old), false).state).toBe("providers");
  });
});
