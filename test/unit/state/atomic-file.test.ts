import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempName, writeAtomic } from "../../../src/state/atomic-file.js";
import { thisProcess } from "../../../src/state/process-id.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

test.each([0o000, 0o022, 0o777])("the file is 0600 under umask %o, also while it is being written", (umask) => {
  const path = join(scratch(), "hosts.json");
  const seen: number[] = [];
  const old = process.umask(umask);
  try {
    const beforeRename = () => {
      const [temp = ""] = readdirSync(join(path, ".."));
      seen.push(statSync(join(path, "..", temp)).mode & 0o777);
    };
    writeAtomic(path, "x", { beforeRename });
  } finally {
    process.umask(old);
  }
  expect(seen).toEqual([0o600]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a file that was open to others is closed by the next write", () => {
  const path = join(scratch(), "hosts.json");
  writeFileSync(path, "old", { mode: 0o644 });
  writeAtomic(path, "new");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a symbolic link is refused and its target unchanged", async () => {
  const dir = scratch();
  const target = join(dir, "elsewhere");
  const path = join(dir, "hosts.json");
  writeFileSync(target, "theirs");
  symlinkSync(target, path);
  const fault = await faultOf(() => writeAtomic(path, "ours"));
  expect(fault.fault).toBe("state-corrupt");
  expect(readFileSync(target, "utf8")).toBe("theirs");
  expect(lstatSync(path).isSymbolicLink()).toBe(true);

  // The suggested command repairs it.
  execFileSync("sh", ["-c", fault.next[0] ?? ""]);
  expect(lstatSync(path).isSymbolicLink()).toBe(false);
  writeAtomic(path, "ours");
  expect(readFileSync(path, "utf8")).toBe("ours");
});

test("when something goes wrong before the rename, the target stays and nothing is left beside it", () => {
  const dir = scratch();
  const path = join(dir, "hosts.json");
  writeFileSync(path, "old");
  const beforeRename = () => {
    throw new Error("no");
  };
  expect(() => writeAtomic(path, "new", { beforeRename })).toThrow("no");
  expect(readFileSync(path, "utf8")).toBe("old");
  expect(readdirSync(dir)).toEqual(["hosts.json"]);
});

test("a system error is a fault that names the file", async () => {
  const path = join(scratch(), "hosts.json");
  mkdirSync(path);
  writeFileSync(join(path, "full"), "");
  const fault = await faultOf(() => writeAtomic(path, "x"));
  expect(fault.fault).toBe("state-readonly");
  expect(fault.message).toContain(path);
  expect(fault.why.join()).toMatch(/EISDIR|ENOTEMPTY/);
});

test("temporary files of dead writers are removed, those of living and of far ones are not", () => {
  const dir = scratch();
  const path = join(dir, "hosts.json");
  const { pid, started, place } = thisProcess();
  const named = (what: string) => `.hosts.json~${what}~0`;
  const dead = named(`${2 ** 22 + 1}~1~${place}`);
  const recycled = named(`${pid}~1~${place}`);
  const living = named(`${pid}~${started}~${place}`);
  const far = named("1~1~elsewhere");
  const farAndOld = named("2~1~elsewhere");
  for (const name of [dead, recycled, living, far, farAndOld]) writeFileSync(join(dir, name), "");
  utimesSync(join(dir, farAndOld), 1, 1);
  const otherFile = ".secrets.json~1~1~x~0";
  writeFileSync(join(dir, otherFile), "");

  writeAtomic(path, "x");
  expect(readdirSync(dir).sort()).toEqual([far, living, otherFile, "hosts.json"].sort());
});

test("no two temporary names are the same", () => {
  expect(tempName("a")).not.toBe(tempName("a"));
});
