import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfigDir, openSubdirectory, resolveConfigDir } from "../../../src/state/config-dir.js";
import { hostStore } from "../../../src/state/hosts.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();
const mode = (path: string) => statSync(path).mode & 0o777;

test.each([
  ["the flag", "/flag", { CLM_HOME: "/home-var", XDG_CONFIG_HOME: "/xdg" }, "/flag"],
  ["CLM_HOME", undefined, { CLM_HOME: "/home-var", XDG_CONFIG_HOME: "/xdg" }, "/home-var"],
  ["XDG_CONFIG_HOME", undefined, { XDG_CONFIG_HOME: "/xdg" }, "/xdg/clawrium"],
  ["not a relative XDG_CONFIG_HOME", undefined, { XDG_CONFIG_HOME: "xdg" }, "/home/me/.config/clawrium"],
  ["not an empty CLM_HOME", undefined, { CLM_HOME: "" }, "/home/me/.config/clawrium"],
  ["the home directory", undefined, {}, "/home/me/.config/clawrium"],
])("%s decides", (_, flag, env, expected) => {
  expect(resolveConfigDir(flag, env, "/home/me")).toBe(expected);
});

test("a relative flag is relative to where the user stands", () => {
  expect(resolveConfigDir("mine", {}, "/home/me")).toBe(join(process.cwd(), "mine"));
});

test.each([0o000, 0o022, 0o077])("it is made 0700, with its parents, under umask %o", (umask) => {
  const root = join(scratch(), "a/b/clawrium");
  const old = process.umask(umask);
  try {
    openConfigDir(root);
    openSubdirectory(root, "backups");
  } finally {
    process.umask(old);
  }
  expect(mode(root)).toBe(0o700);
  expect(mode(join(root, "backups"))).toBe(0o700);
});

test("an open directory is made private", () => {
  const root = scratch();
  writeFileSync(join(root, "hosts.json"), "");
  chmodSync(root, 0o755);
  openConfigDir(root);
  expect(mode(root)).toBe(0o700);
});

test("the `operations` directory of earlier versions is no obstacle", () => {
  const root = scratch();
  chmodSync(root, 0o755);
  mkdirSync(join(root, "operations"));
  expect(openConfigDir(root)).toBe(root);
  expect(mode(root)).toBe(0o700);
  expect(readdirSync(root)).toEqual(["operations"]);
});

test("a directory that is something else is left alone", async () => {
  const root = scratch();
  writeFileSync(join(root, "thesis.tex"), "");
  chmodSync(root, 0o755);
  const fault = await faultOf(() => openConfigDir(root));
  expect(fault.fault).toBe("bad-input");
  expect(mode(root)).toBe(0o755);
});

test("a file in its place is a fault that names it", async () => {
  const root = join(scratch(), "clawrium");
  writeFileSync(root, "");
  const fault = await faultOf(() => openConfigDir(root));
  expect(fault.fault).toBe("state-readonly");
  expect(fault.message).toContain(root);
  expect(fault.next).not.toEqual([]);
});

test("reading where there is nothing sees an empty fleet and makes nothing", () => {
  const root = join(scratch(), "clawrium");
  expect(hostStore(root).read()).toEqual({ hosts: [] });
  expect(existsSync(root)).toBe(false);
  mkdirSync(root);
  expect(hostStore(root).read()).toEqual({ hosts: [] });
  expect(readdirSync(root)).toEqual([]);
});
