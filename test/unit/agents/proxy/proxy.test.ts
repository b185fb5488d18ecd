import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { flawsIn } from "../../../../src/agents/manifest/flaws.js";
import type { Manifest } from "../../../../src/agents/manifest/manifest.js";
import { manifestSchema } from "../../../../src/agents/manifest/manifest.js";
import { proxyOperations } from "../../../../src/agents/plan/operations.js";
import { installedOperations } from "../../../../src/agents/plan/plan.js";
import { takenPorts } from "../../../../src/agents/plan/ports.js";
import {
  mustServe,
  type ProxyType,
  proxyOf,
  proxyPort,
  proxyProviders,
  proxyTypeOf,
  recordedProxyType,
} from "../../../../src/agents/plan/proxy.js";
import { type ResolvedAgent, resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { sandboxDirectives } from "../../../../src/agents/plan/unit-file.js";
import { parseObservation } from "../../../../src/agents/probe/proof/observation.js";
import { loginsIn, parseProxyObservation, proxyScript } from "../../../../src/agents/proxy/probe.js";
import { proxyTrouble } from "../../../../src/agents/proxy/trouble.js";
import { Fault } from "../../../../src/errors.js";
import { mustHaveOwnPorts, portFor } from "../../../../src/flows/agent/port-conflicts.js";
import { claim } from "../../../../src/flows/agent/proxy/enable.js";
import { mustBeItsUnit, mustBeNobodysUnit, strangerIn } from "../../../../src/flows/agent/proxy/probe.js";
import { agentNameFrom, hostNameFrom } from "../../../../src/names.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { type Agent, findAgent } from "../../../../src/state/agents.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";

const manifest = manifestSchema.parse(parse(readFileSync("manifests/hermes.yaml", "utf8"), { merge: true }));
const type = manifest.proxy as ProxyType;
const freshDirectory = scratchDirectories();

function resolved(more: Partial<AgentRecord> = {}, given: Manifest = manifest): ResolvedAgent {
  const record = sampleAgent("ada", { mark: "0123abcd", proxy: { provider: "nous", port: 8700 }, ...more });
  return resolvedAgent(given, {
    name: agentNameFrom("ada"),
    ref: "ada",
    record,
    host: { name: "wolf", agents: { ada: record } } as never,
  });
}

function faultOf(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("was let through");
}

describe("the proxies of a version", () => {
  it.each([
    ["2026.5.7", undefined],
    ["2026.5.16", ["nous"]],
    ["2026.5.29", ["nous", "xai"]],
    ["2026.7.1", ["nous", "xai"]],
  ])("%s: %j", (version, providers) => {
    const one = resolved({ version });
    if (providers) expect(proxyProviders(one, proxyTypeOf(one))).toEqual(providers);
    else {
      const fault = faultOf(() => proxyTypeOf(one));
      expect(fault).toMatchObject({ fault: "unsupported", message: "ada cannot have a proxy" });
      expect(fault.why).toEqual(["Hermes Agent 2026.5.7 has none; versions >=2026.5.16 do"]);
    }
  });

  it("can be taken away from a version that has none", () => {
    const older = resolved({ version: "2026.5.7" });
    expect(recordedProxyType(older)).toBe(type);
    const { proxy: _, ...without } = older;
    expect(faultOf(() => recordedProxyType(without))).toMatchObject({ fault: "unsupported" });
  });

  it("are named when another is requested", () => {
    const older = resolved({ version: "2026.5.16" });
    expect(faultOf(() => mustServe(older, type, "xai"))).toMatchObject({
      fault: "unsupported",
      why: ["Hermes Agent 2026.5.16 cannot; versions >=2026.5.29 can"],
      next: ["clm agent proxy enable ada --provider nous"],
    });
    expect(faultOf(() => mustServe(resolved(), type, "nuos"))).toMatchObject({
      fault: "bad-input",
      why: ["did you mean 'nous'?"],
    });
    expect(faultOf(() => mustServe(resolved(), type, "constructor"))).toMatchObject({ fault: "bad-input" });
    mustServe(resolved(), type, "xai");
  });

  it("is nowhere that the agent or its channels listen by themselves", () => {
    const { first, last } = type.ports;
    const others = [manifest.api.port, manifest.dashboard?.ports].flatMap((range) => range ?? []);
    for (const range of others) expect(range.last < first || last < range.first).toBe(true);
    for (const port of manifest.api.port.avoid) expect(port < first || last < port).toBe(true);
    expect(type.args.join(" ")).toContain("--host 127.0.0.1");
    expect(flawsIn(manifest)).toEqual([]);
  });

  it("a manifest with an unknown placeholder is refused", () => {
    const wrong = { ...manifest, proxy: { ...type, unit: "{{user}}.service", args: ["{{token}}"] } };
    expect(flawsIn(wrong).map(({ path }) => path)).toEqual(["proxy.unit", "proxy.args.0"]);
  });
});

describe("a proxy's unit", () => {
  const textOf = (one: ResolvedAgent, systemd = 257) => proxyOperations(one, systemd)[0]?.content ?? "";

  it("is up, enabled, and called after its agent", () => {
    expect(proxyOperations(resolved(), 257)).toMatchObject([
      { kind: "unit", name: "hermes-ada-proxy.service", enabled: true, state: "started" },
    ]);
    const { proxy: _, ...without } = resolved();
    expect(proxyOperations(without, 257)).toEqual([]);
    expect(proxyOf(without)).toBeUndefined();
  });

  it.each([
    ["2026.5.7", "nous", 0],
    ["2026.5.16", "nous", 1],
    ["2026.5.16", "xai", 0],
    ["2026.5.29", "xai", 1],
  ])("is desired only where the version supports it: %s, %s", (version, provider, count) => {
    expect(proxyOperations(resolved({ version, proxy: { provider, port: 8700 } }), 257)).toHaveLength(count);
  });

  it("runs the program as the agent, and the manager reads no file of the agent's", () => {
    const lines = textOf(resolved({ proxy: { provider: "xai", port: 8703 } })).split("\n");
    expect(lines).toContain(
      "ExecStart=/home/ada/.local/bin/hermes proxy start --provider xai --host 127.0.0.1 --port 8703",
    );
    for (const line of ["User=ada", "Group=ada", "Restart=on-failure", "RestartPreventExitStatus=2", "UMask=0077"]) {
      expect(lines).toContain(line);
    }
    expect(lines.filter((line) => /^(EnvironmentFile|PartOf|BindsTo|Requires)=/.test(line))).toEqual([]);
  });

  it.each([false, true])("is as closed in as an agent can be, also that of a relaxed one (%s)", (relaxed) => {
    for (const systemd of [249, 257]) {
      const lines = textOf(resolved({ relaxed }), systemd).split("\n");
      const bolts = sandboxDirectives({ ...resolved(), relaxed: false }, systemd);
      expect(bolts.length).toBeGreaterThan(15);
      expect(lines).toEqual(expect.arrayContaining(bolts));
    }
  });

  it("is part of diff and sync, with the agent configured or not", () => {
    const seen = parseObservation("systemd=257\nend=yes\n");
    if (!seen) throw new Error("the lines do not go to the end");
    const ids = (mark: string | undefined) => installedOperations(resolved(), seen, mark).map(({ id }) => id);
    expect(ids("0123abcd").at(-1)).toBe("unit hermes-ada-proxy.service");
    expect(ids(undefined)).toEqual(["unit hermes-ada-proxy.service"]);
  });
});

describe("a proxy's name", () => {
  const unit = "hermes-ada-proxy.service";
  const among = (agents: Record<string, AgentRecord>) =>
    ({ name: "ada", word: "ada", record: sampleAgent("ada"), host: { name: "wolf", agents } }) as unknown as Agent;

  it("is not that of another agent's unit, be it there already or not", () => {
    mustBeNobodysUnit(among({ ada: sampleAgent("ada", { unit }), ben: sampleAgent("ben") }), unit);
    const taken = among({ "ada-proxy": sampleAgent("ada-proxy", { unit }) });
    expect(faultOf(() => mustBeNobodysUnit(taken, unit))).toMatchObject({
      fault: "in-use",
      next: ["clm agent show wolf/ada-proxy"],
    });
  });
});

describe("a proxy's unit on a host", () => {
  it.each([
    ["the agent's own", ["runs_as=ada", "unit.LoadState=loaded"], undefined],
    ["not there", ["runs_as=", "unit.LoadState=not-found"], undefined],
    ["another's", ["runs_as=eve", "unit.LoadState=loaded"], "it runs as eve, and not as ada"],
    ["root's", ["runs_as=", "unit.LoadState=loaded"], "it runs as root, and not as ada"],
  ])("that is %s", (_, lines, why) => {
    const seen = parseProxyObservation(type)([...lines, "end=yes", ""].join("\n"));
    if (!seen) throw new Error("the lines do not go to the end");
    expect(strangerIn(resolved(), seen)).toBe(why);
    if (why) expect(faultOf(() => mustBeItsUnit(resolved(), "x.service", seen))).toMatchObject({ why: [why] });
  });
});

describe("a proxy's port", () => {
  it("is chosen under the lock", async () => {
    const hosts = hostStore(freshDirectory());
    const agents = { ada: sampleAgent("ada"), ben: sampleAgent("ben", { port: 8643 }) };
    const host = {
      name: hostNameFrom("wolf"),
      address: "127.0.0.1",
      port: 22,
      labels: {},
      added_at: "",
      agents,
      sudo: "passwordless" as const,
    };
    await hosts.update((fleet) => ({ ...fleet, hosts: [host] }));
    const looked = hosts.read();
    const seen = { ports: [{ port: 8700, uid: 0 }], listeners: [] };
    const claimed = await Promise.all(
      ["ada", "ben"].map((name) =>
        claim({ hosts }, findAgent(looked, name), {
          provider: "nous",
          manifest,
          types: [manifest],
          type,
          seen: seen as never,
        }),
      ),
    );
    expect(claimed.map(({ proxy }) => proxy?.port).sort()).toEqual([8701, 8702]);
    const kept = ["ada", "ben"].map((name) => findAgent(hosts.read(), name).record);
    expect(kept).toEqual(claimed);
  });

  it.each([
    { about: "the first", kept: undefined, taken: [8642], heard: [22], port: 8700 },
    { about: "the next, when another agent has the first", kept: undefined, taken: [8700], heard: [], port: 8701 },
    { about: "the next, when somebody listens there", kept: undefined, taken: [8701], heard: [8700], port: 8702 },
    { about: "the one it has", kept: 8720, taken: [], heard: [], port: 8720 },
    { about: "another, when somebody took that", kept: 8720, taken: [], heard: [8720], port: 8700 },
  ])("is $about", ({ kept, taken, heard, port }) => {
    expect(proxyPort(type, kept, taken, heard)).toBe(port);
  });

  it("is none when all are taken", () => {
    const all = Array.from({ length: 100 }, (_, index) => 8700 + index);
    expect(proxyPort(type, undefined, all, [])).toBeUndefined();
  });

  it("is unique on its host", () => {
    const ben = sampleAgent("ben", { port: 8643, proxy: { provider: "nous", port: 8701 } });
    const host = { name: "wolf", agents: { ada: sampleAgent("ada"), ben } } as never;
    expect(takenPorts(host, "ada", [manifest])).toEqual([
      { agent: "ben", port: 8643 },
      { agent: "ben", port: 8701 },
    ]);
  });
});

describe("its own proxy's port", () => {
  const record = sampleAgent("ada", { proxy: { provider: "nous", port: 8700 } });
  const host = { name: "wolf", agents: { ada: record } } as never;
  const agent: Agent = { name: agentNameFrom("ada"), ref: "ada", record, host };
  const session = { argv: ["agent", "configure", "ada"] } as never;
  // The proxy listens as the agent's user, so the record must tell them apart.
  const seen = parseObservation("uid=1001\nport=8700/1001\nend=yes\n");
  if (!seen) throw new Error("the lines do not go to the end");

  it("is not given to its API", () => {
    const fault = faultOf(() =>
      portFor(session, agent, { manifest, types: [manifest], record, observation: seen }, 8700),
    );
    expect(fault.message).toBe("port 8700 belongs to an agent on this host; nothing was changed");
  });

  it("is not given to its channels", () => {
    const wanted = { ...record, channels: { webhook: { port: "8700" } } };
    const fault = faultOf(() =>
      mustHaveOwnPorts(session, agent, { manifest, types: [manifest], record: wanted, observation: seen }),
    );
    expect(fault.why).toEqual(["its own proxy has it on wolf"]);
  });
});

const said = (provider: string, state: string, ready: boolean) => ({ provider, state, ready });

it.each([
  ["  [nous    ] Nous Portal — not logged in", [said("nous", "not logged in", false)]],
  ["  [nous    ] Nous Portal — ready", [said("nous", "ready", true)]],
  [
    "  [xai     ] xAI Grok OAuth — ready (bearer expires 2026-07-02T10:00:00+00:00)",
    [said("xai", "ready (bearer expires 2026-07-02T10:00:00+00:00)", true)],
  ],
  [
    "  [nous    ] Nous Portal — credentials need attention (not ready — try again)",
    [said("nous", "credentials need attention (not ready — try again)", false)],
  ],
  ["Hermes proxy upstream adapters\n\nStart the proxy with: hermes proxy start [--provider <name>]", []],
  ["usage: hermes [-h] …", []],
])("reads a login: %s", (text, logins) => {
  expect(loginsIn(text, type.status)).toEqual(logins);
});

describe("its probe", () => {
  const script = proxyScript(resolved(), type, { port: 8700, logins: true });

  it("is a script that sh can read, about the proxy's unit and port", () => {
    execFileSync("sh", ["-n"], { input: script });
    expect(script).toContain("unit=hermes-ada-proxy.service");
    expect(script).toContain("port=8700");
    expect(script).toContain("-- /home/ada/.local/bin/hermes proxy status' &");
    expect(proxyScript(resolved(), type, {})).not.toContain("proxy status");
  });

  const encoded = (text: string) => Buffer.from(text).toString("base64");
  it("parses its output in pieces", () => {
    const login = encoded("  [nous    ] Nous Portal — ready\n");
    const lines = [
      ...["uid=1001", "runs_as=ada", `login=${login.slice(0, 8)}`, `login=${login.slice(8)}`],
      `proxy=${encoded('{"status":"ok","upstream":"Nous Portal","authenticated":true}')}`,
    ];
    expect(parseProxyObservation(type)([...lines, "end=yes", ""].join("\n"))).toMatchObject({
      account: true,
      runsAs: "ada",
      logins: [said("nous", "ready", true)],
      says: { upstream: "Nous Portal", authenticated: true },
    });
    expect(parseProxyObservation(type)(lines.join("\n"))).toBeUndefined();
    const odd = parseProxyObservation(type)(`proxy=${encoded('{"authenticated":"yes"}')}\nend=yes\n`);
    expect(odd?.says).toEqual({});
    expect(parseProxyObservation(type)("end=yes\n")).not.toHaveProperty("says");
  });
});

describe("is never used at a foreign port", () => {
  const unit = (active: string, sub: string) => [
    ...["uid=1001", "unit.LoadState=loaded", `unit.ActiveState=${active}`, `unit.SubState=${sub}`],
  ];
  const up = unit("active", "running");
  it.each([
    ["its own", [...up, "listen=0100007F/7", "holder=yes 7 ada hermes"], undefined],
    ["somebody else's", [...up, "listen=0100007F/7", "holder=no 9 eve nc"], "check-failed"],
    ["open to all", [...up, "listen=00000000/7", "holder=yes 7 ada hermes"], "check-failed"],
    ["held by nobody", up, "not-ready", "silent"],
    ["held by nobody, and its unit failed", unit("failed", "failed"), "not-ready", "silent"],
    ["held by nobody, and its unit is stopped", unit("inactive", "dead"), "not-ready", "stopped"],
    ["gone with its unit", ["uid=1001", "unit.LoadState=not-found", "unit.ActiveState=inactive"], "not-ready", "gone"],
    ["gone with its account", ["uid=", "unit.LoadState=loaded", "unit.ActiveState=failed"], "not-ready", "gone"],
  ])("%s", (_, lines, fault, door?: string) => {
    const seen = parseObservation([...lines, "end=yes", ""].join("\n"));
    const one = resolved();
    const proxy = proxyOf(one);
    if (!seen || !proxy) throw new Error("nothing to judge");
    const trouble = proxyTrouble(one, proxy, seen);
    expect([trouble?.fault, trouble?.data.door]).toEqual([fault, door]);
    if (trouble) expect(trouble.next[0]).toBe("clm agent proxy enable ada --provider nous");
  });
});
