import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeOverlay, writeOverlay } from "../../../src/cli/lab/overlay.js";
import { pinnedStandins, type Standin, standinInstaller, standins } from "../../../src/lab/standin.js";

describe.each(Object.keys(standins) as Standin[])("the stand-in's installer for %s", (version) => {
  const text = standinInstaller(version);

  it("is the same each time", () => {
    expect(standinInstaller(version)).toBe(text);
  });

  it("is bash that bash can read", () => {
    execFileSync("bash", ["-n"], { input: text });
  });

  it("holds Python that compiles", () => {
    const modules = [...text.matchAll(/<< 'END OF ([\w/.]+)'\n([\s\S]*?)END OF \1\n/g)].map(([, name, code]) => [
      name,
      code,
    ]);
    expect(modules.map(([name]) => name)).toContain("hermes_cli/main.py");
    const check = "import json, sys\nfor name, code in json.load(sys.stdin): compile(code, name, 'exec')";
    execFileSync("python3", ["-c", check], { input: JSON.stringify(modules) });
  });

  it("is marked as a stand-in", () => {
    expect(text).toContain("This is a stand-in");
    expect(text).toContain(`VERSION=${version}\n`);
    expect(text).not.toMatch(/^#(release|program)#$/m);
  });
});

describe("the lab's own manifest", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "clm-overlay-"));
  });
  afterEach(() => rmSync(home, { recursive: true }));
  const file = () => join(home, "manifests/lab.yaml");

  it("pins its artifacts", async () => {
    await writeOverlay(home);
    const text = readFileSync(file(), "utf8");
    for (const { version, bytes, sha256 } of pinnedStandins()) {
      expect(text).toContain(`  ${version}:\n`);
      expect(text).toContain(`size: ${bytes.length}\n      sha256: ${sha256}\n`);
      expect(readFileSync(join(home, `manifests/lab/hermes-${version}.sh`))).toEqual(bytes);
    }
    expect(text).toContain("lab: 2026.7.1+standin\n");
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it("is unchanged when it is up to date", async () => {
    await writeOverlay(home);
    const before = statSync(file(), { bigint: true });
    await writeOverlay(home);
    const after = statSync(file(), { bigint: true });
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  });

  it("replaces that of an older clm", async () => {
    await writeOverlay(home);
    const fresh = readFileSync(file());
    writeFileSync(file(), "type: hermes\nversions: {}\n");
    writeFileSync(join(home, "manifests/lab/hermes-old.sh"), "");
    await writeOverlay(home);
    expect(readFileSync(file())).toEqual(fresh);
    expect(() => statSync(join(home, "manifests/lab/hermes-old.sh"))).toThrow("ENOENT");
  });

  it("goes without a trace, and leaves the user's manifests", async () => {
    await writeOverlay(home);
    removeOverlay(home);
    expect(() => statSync(join(home, "manifests"))).toThrow("ENOENT");
    await writeOverlay(home);
    writeFileSync(join(home, "manifests/mine.yaml"), "");
    removeOverlay(home);
    expect(() => statSync(file())).toThrow("ENOENT");
    statSync(join(home, "manifests/mine.yaml"));
  });
});
