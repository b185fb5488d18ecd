import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../lab/clm.js";

/** The package as it is made from a clone of the repository and installed elsewhere. */

const folder = mkdtempSync(join(tmpdir(), "clm-package-"));
const clone = join(folder, "clone");
const prefix = join(folder, "prefix");
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

async function must(directory: string, program: string, ...args: string[]): Promise<string> {
  const line = ["-C", directory, "--unset=CLM_DIST", "--unset=NODE_ENV", program, ...args];
  const { code, stdout, stderr } = await runProgram("env", line);
  expect(code, `${program} ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  const notInClone = [".git", "node_modules", "dist", "results"];
  cpSync(".", clone, { recursive: true, filter: (path) => !notInClone.includes(basename(path)) });
  mkdirSync(prefix);
  await must(clone, "npm", "pack", "--pack-destination", folder);
  await must(folder, "npm", "install", "--global", "--offline", "--prefix", prefix, `./clm-${version}.tgz`);
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("the packed clm", () => {
  const onlyPath = ["-i", `PATH=${dirname(process.execPath)}:/usr/bin:/bin`];
  const clm = (...args: string[]) =>
    must(folder, "env", ...onlyPath, join(prefix, "bin", "clm"), "--config-dir", join(folder, "home"), ...args);

  it("has no dependencies", () => {
    const modules = join(prefix, "lib/node_modules");
    expect(readdirSync(modules)).toEqual(["clm"]);
    expect(readdirSync(join(modules, "clm")).sort()).toEqual(
      ["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json"].sort(),
    );
    expect(existsSync(join(modules, "clm/node_modules"))).toBe(false);
  });

  it("runs with only a PATH", async () => {
    expect(await clm("version", "-o", "json")).toContain(version);
    expect(await clm("--help")).toContain("agent");
    expect(await clm("registry", "list")).toContain("hermes");
    expect(await clm("provider", "types", "-o", "name")).toContain("openrouter");
    expect(await clm("host", "list", "-o", "json")).toBe("[]\n");
  });
});
