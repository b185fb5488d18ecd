import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { isAlive, thisProcess } from "../../../src/state/process-id.js";

const linux = existsSync("/proc/self/stat");

test("this process is alive", () => {
  expect(isAlive(thisProcess())).toBe(true);
});

test("a process that ended is not", async () => {
  const child = spawn("true");
  const { pid = 0 } = child;
  await once(child, "exit");
  expect(isAlive({ ...thisProcess(), pid, started: "" })).toBe(false);
});

test.runIf(linux)("a pid that was given to another process is not the process that had it", () => {
  expect(isAlive({ ...thisProcess(), started: "1" })).toBe(false);
});

test.runIf(linux)("a zombie is not alive", async () => {
  // The shell becomes `sleep`, which never waits for the child it inherits.
  const parent = spawn("sh", ["-c", "sh -c 'echo $$; exec sleep 60' & exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    expect(isAlive({ ...thisProcess(), pid, started: "" })).toBe(true);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isAlive({ ...thisProcess(), pid, started: "" })).toBe(false);
    expect(process.kill(pid, 0)).toBe(true);
  } finally {
    parent.kill("SIGKILL");
  }
});

test("a process on another machine or in another container is unknown", () => {
  expect(isAlive({ ...thisProcess(), place: "elsewhere" })).toBeUndefined();
});

test.runIf(linux)("without a start time, as on a system without /proc, the pid decides", () => {
  expect(isAlive({ ...thisProcess(), started: "" })).toBe(true);
});
