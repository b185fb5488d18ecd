import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { freePort, type PortQuestion } from "../../../../../src/agents/plan/ports.js";
import type { ResolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { preflightChecks } from "../../../../../src/flows/agent/preflight/preflight-checks.js";
import {
  type Installation,
  type PreflightObservation,
  parsePreflight,
} from "../../../../../src/flows/agent/preflight/preflight-probe.js";
import type { Facts } from "../../../../../src/remote/facts.js";
import { sampleFacts } from "../../../remote/sample-facts.js";

const load = (name: string) =>
  parse(readFileSync(new URL(`../../../../cases/preflight/${name}`, import.meta.url), "utf8")) as never;

const range = { first: 8642, last: 8648, avoid: [8644, 8645, 8646] };

const requires = {
  systems: ["debian 12", "debian 13"],
  arch: ["x86_64", "aarch64"],
  systemd: 249,
  memory_mb: 512,
  disk_mb: 4096,
  programs: { rg: "ripgrep", ffmpeg: "ffmpeg", git: "git", curl: "curl", python3: "python3" },
  reach: [],
};
const agent = { user: "ada", unit: "hermes-ada.service", paths: { home: "/home/ada" }, manifest: { requires } };

const expected: Installation = {
  agent: agent as unknown as ResolvedAgent,
  ports: { range, recorded: [] },
  reach: ["https://github.com", "https://astral.sh"],
  packages: true,
};

const seen: PreflightObservation = {
  programs: ["rg", "ffmpeg", "git", "curl", "python3"],
  home: false,
  state: "inactive",
  job: "inactive",
  listening: [{ port: 22, uid: 0 }],
  reach: { "https://github.com": true, "https://astral.sh": true },
};

const ids = [
  ...["system.os", "system.arch", "system.systemd", "memory", "disk", "clock"],
  ...["program.rg", "program.ffmpeg", "program.git", "program.curl", "program.python3"],
  ...["user", "unit", "port", "reach"],
];

interface Case {
  name: string;
  facts?: Partial<Facts>;
  expected?: Partial<Omit<Installation, "ports">> & { ports?: Partial<Installation["ports"]> };
  seen?: Partial<PreflightObservation>;
  not_ok: Record<string, { result: string; text?: string; fix?: string }>;
}

describe("preflight checks", () => {
  it.each<Case>(load("judge.yaml"))("$name", (given) => {
    const ports = { ...expected.ports, ...given.expected?.ports };
    const checks = preflightChecks(
      { ...expected, ...given.expected, ports },
      { ...sampleFacts, ...given.facts },
      { ...seen, ...given.seen },
    );
    expect(checks.map(({ id }) => id)).toEqual(ids);
    const found = checks.filter(({ result }) => result !== "ok");
    expect(Object.fromEntries(found.map(({ id, result }) => [id, result]))).toEqual(
      Object.fromEntries(Object.entries(given.not_ok).map(([id, { result }]) => [id, result])),
    );
    for (const { id, reason, result, fix } of found) {
      expect(reason).toContain(given.not_ok[id]?.text ?? "");
      expect(fix ?? "").toContain(given.not_ok[id]?.fix ?? "");
      if (result !== "skipped") expect(fix).toMatch(/\S/);
    }
  });
});

it("without root, what only root sees is not judged", () => {
  const checks = preflightChecks(expected, { ...sampleFacts, arch: "armv7l" }, undefined);
  expect(checks.map(({ id }) => id)).toEqual(ids);
  expect(checks.filter(({ result }) => result === "skipped").map(({ id }) => id)).toEqual(ids.slice(6));
  expect(checks.find(({ id }) => id === "system.arch")?.result).toBe("fail");
});

describe("the port an agent gets", () => {
  it.each<Partial<PortQuestion> & { name: string; port: number | null }>(load("ports.yaml"))(
    "$name",
    ({ name: _, port, ...given }) => {
      expect(freePort({ range, recorded: [], listening: [], ...given }) ?? null).toBe(port);
    },
  );
});

describe("the output of the host's script", () => {
  const whole = `program=rg
program=git
account=ada:x:1001:1002:clm agent 0badcafe:/home/ada:/usr/sbin/nologin
group=used
home=there
unit=/etc/systemd/system/hermes-ada.service
unit_user=ada
state=activating
job=active
listen=0016 0
listen=21C2 1001
reach=yes https://github.com
reach=no https://astral.sh
version=Hermes Agent v0.18.0 (2026.7.1)
end=yes
`;

  it("is read whole", () => {
    expect(parsePreflight(whole)).toEqual({
      programs: ["rg", "git"],
      account: { uid: 1001, comment: "clm agent 0badcafe", home: "/home/ada" },
      group: "used",
      home: true,
      unit: { path: "/etc/systemd/system/hermes-ada.service", user: "ada" },
      state: "activating",
      job: "active",
      listening: [
        { port: 22, uid: 0 },
        { port: 8642, uid: 1001 },
      ],
      reach: { "https://github.com": true, "https://astral.sh": false },
      version: "Hermes Agent v0.18.0 (2026.7.1)",
    });
  });

  it("may be next to nothing", () => {
    expect(parsePreflight("account=\nstate=\njob=\nend=yes\n")).toEqual({
      programs: [],
      home: false,
      state: "inactive",
      job: "inactive",
      listening: [],
      reach: {},
    });
  });

  it("is nothing when it breaks off", () => {
    expect(parsePreflight(whole.replace("end=yes\n", ""))).toBeUndefined();
  });
});
