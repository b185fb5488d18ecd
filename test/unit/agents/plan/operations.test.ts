import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import {
  accountOperations,
  directoryOperations,
  installerOperation,
  removalOperations,
  unitOperation,
} from "../../../../src/agents/plan/operations.js";
import { fileOperations, type PlannedFile } from "../../../../src/agents/plan/plan-files.js";
import { pathsFor, type ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { unitFile } from "../../../../src/agents/plan/unit-file.js";
import type { Operation } from "../../../../src/remote/operations/operation.js";
import { Secret } from "../../../../src/secret.js";

const { manifest } = await loadType("/nonexistent", "hermes");
const cases = <T>(name: string): T => parse(readFileSync(`test/cases/wish/${name}.yaml`, "utf8"));

function agent(version = manifest.default, more: Partial<ResolvedAgent> = {}): ResolvedAgent {
  const { commit: _, ...standin } = manifest.versions[manifest.default] as ResolvedAgent["release"];
  const release = manifest.versions[version] ?? { ...standin, standin: true };
  const who = {
    host: "wolf",
    name: "ada",
    ref: "ada",
    adopted: false,
    channels: [],
    servers: [],
    settings: {},
    serves: "http" as const,
    user: "ada",
    unit: "hermes-ada.service",
    port: 8642,
    relaxed: false,
  };
  return { manifest, version, release, ...who, paths: pathsFor(manifest, "ada"), ...more };
}

describe("the desired state", () => {
  const { env, config = "" } = agent().paths;
  const whole = { mode: 0o600, restarts: true, content: { merge: "whole" as const, text: "" } };
  const planned: PlannedFile[] = [
    { file: { id: "env", path: env, ...whole }, text: new Secret("hunter2"), notes: [] },
    { file: { id: "config", path: config, ...whole }, text: "model: {}\n", notes: [] },
  ];
  const wishes: Record<string, Operation[]> = {
    account: accountOperations(agent(), "0123abcd"),
    installer: [installerOperation(agent(), "/run/i.sh")],
    unit: [unitOperation(agent(), 252)],
    files: fileOperations(agent(), planned, { restart: true }),
    gone: removalOperations(agent()),
    directories: directoryOperations(agent()),
    "directories, taken over": directoryOperations(agent(undefined, { adopted: true })),
  };

  it.each(Object.entries(cases<Record<string, object[]>>("operations")))("for its %s", (name, expected) => {
    const plain = JSON.parse(JSON.stringify(wishes[name]));
    expect(plain).toHaveLength(expected.length);
    expect(plain).toMatchObject(expected);
    expect(JSON.stringify(plain)).not.toContain("hunter2");
  });

  it("seeds files that only name their writer", () => {
    const contents = wishes.account?.flatMap((each) => ("content" in each && each.content ? [each.content] : []));
    const texts = contents?.map((content) => (content instanceof Secret ? content.reveal() : String(content)));
    expect(texts).toHaveLength(2);
    for (const text of texts ?? []) expect(text).toMatch(/^# clm .*\n$/);
  });
});

describe("the installer of", () => {
  it.each(cases<{ version: string; args: string[] }[]>("installer"))("$version", ({ version, args }) => {
    const { argv } = installerOperation(agent(version), "/run/i.sh");
    const at = argv.indexOf("bash");
    expect(argv.slice(at)).toEqual(["bash", "/run/i.sh", ...args]);
    expect(argv.slice(0, at)).toEqual([
      "env",
      "HOME=/home/ada",
      "USER=ada",
      "LOGNAME=ada",
      "HERMES_HOME=/home/ada/.hermes",
    ]);
  });
});

describe("a unit file", () => {
  const directives = (text: string) => text.split("\n").filter((line) => /^[A-Z]/.test(line));

  it("has only directives that the host's systemd knows", () => {
    const [old, now] = [246, 247].map((systemd) => directives(unitFile(agent(), systemd)));
    expect(now?.filter((line) => !old?.includes(line))).toEqual(["ProtectProc=invisible", "ProcSubset=pid"]);
  });

  it("relaxed lists what it leaves out", () => {
    const [closed, relaxed] = [false, true].map((relaxed) => unitFile(agent(undefined, { relaxed }), 252));
    const left = /^# Left out: (.*)$/m.exec(relaxed ?? "")?.[1];
    expect(left).toBe("PrivateDevices, ProcSubset, RestrictNamespaces, SystemCallFilter");
    const missing = directives(closed ?? "").filter((line) => !directives(relaxed ?? "").includes(line));
    expect([...new Set(missing.map((line) => line.split("=")[0]))].join(", ")).toBe(left);
    expect(closed).not.toContain("Left out");
  });

  it("spells odd places so that systemd reads them as they are", () => {
    const home = "/srv/100% odd $HOME";
    const text = unitFile(agent(undefined, { paths: pathsFor(manifest, "ada", home) }), 252);
    expect(directives(text)).toEqual(
      expect.arrayContaining([
        "WorkingDirectory=/srv/100%% odd $HOME",
        "AssertFileNotEmpty=/srv/100%% odd $HOME/.hermes/.env",
        'Environment="HOME=/srv/100%% odd $HOME"',
        'ExecStart="/srv/100%% odd $HOME/.local/bin/hermes" gateway run',
        'BindPaths="/srv/100%% odd $HOME"',
      ]),
    );
  });

  it.each(["/home/a\nExecStartPre=/bin/x", "/home/a ", "/home/a\\", "/home/it's", '/home/"a"', "home/a"])(
    "cannot say the place %j",
    (home) => {
      const paths = pathsFor(manifest, "ada", home);
      expect(() => unitFile(agent(undefined, { paths }), 252)).toThrow(expect.objectContaining({ fault: "bad-input" }));
    },
  );
});
