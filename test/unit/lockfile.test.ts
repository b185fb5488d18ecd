import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface LockEntry {
  version?: string;
  integrity?: string;
  hasInstallScript?: boolean;
}

const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));

describe.each([".", "test/clients"])("the lockfile in %s", (folder) => {
  const text = readFileSync(`${folder}/package-lock.json`, "utf8");
  const packages = Object.entries<LockEntry>(JSON.parse(text).packages).filter(([path]) => path !== "");

  it("names no registry", () => expect(text).not.toMatch(/"resolved"|https?:\/\/registry/));

  it("has a version and a digest for every package", () => {
    expect(packages.filter(([, { version, integrity }]) => !version || !integrity?.startsWith("sha512-"))).toEqual([]);
  });
});

describe("package.json", () => {
  it("lets no dependency run a script at install", () => {
    const scripts = Object.entries<LockEntry>(read("package-lock.json").packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ""));
    expect(read("package.json").allowScripts).toEqual(Object.fromEntries(scripts.map((name) => [name, false])));
  });
});
