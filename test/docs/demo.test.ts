import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { clm, runProgram } from "../lab/clm.js";

/** `npm run demo` and `npm test`, run and stopped as by a user. */

const folder = mkdtempSync(join(tmpdir(), "clm-demo-test-"));
const labs = join(folder, "labs");
const scratch = join(folder, "tmp");
// dist is in use by other tests; these build into their own folder.
const env = { CLM_LAB_DIR: labs, TMPDIR: scratch, CLM_DIST: join(folder, "dist") };
const home = join(folder, "home");

beforeEach(() => mkdirSync(scratch, { recursive: true }));
afterAll(async () => {
  await clm(["lab", "down", "--all"], { home, env: { CLM_LAB_DIR: labs } });
  rmSync(folder, { recursive: true });
});

interface Running {
  child: ChildProcess;
  /** Everything printed so far. */
  screen: () => string;
  ended: Promise<number | null>;
}

function running(program: string, args: string[]): Running {
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let screen = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      screen += chunk;
    });
  }
  return { child, screen: () => screen, ended: new Promise((done) => child.once("close", done)) };
}

/** Waits until a condition holds, for two minutes at most. */
async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let look = 0; look < 1200; look++) {
    if (await isSo()) return;
    await new Promise((next) => setTimeout(next, 100));
  }
  throw new Error(`not so after two minutes: ${what}`);
}

/** Labs, temporary files and processes of the stopped command. */
async function leftBehind(): Promise<{ labs: unknown[]; files: string[]; processes: string }> {
  const { stdout } = await clm(["lab", "status", "-o", "json"], { home, env: { CLM_LAB_DIR: labs } });
  // Every child has the folder in its environment, except inside a lab host.
  const script = `for each in /proc/[0-9]*; do
    grep -qzx 'TMPDIR=${scratch}.*' "$each/environ" 2>/dev/null && tr '\\0' ' ' <"$each/cmdline" && echo
  done; true`;
  const processes = (await runProgram("sh", ["-c", script])).stdout;
  return { labs: JSON.parse(stdout || "[]"), files: readdirSync(scratch), processes };
}

const nothing = { labs: [], files: [], processes: "" };

describe("npm run demo", () => {
  it("ends by itself on a terminal without input", async () => {
    const { screen, ended } = running("script", ["-qec", "npm run demo", "/dev/null"]);
    expect([await ended, screen()]).toEqual([0, expect.stringContaining("The host is as it was before")]);
    expect(await leftBehind()).toEqual(nothing);
  }, 300_000);

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)(
    "takes its lab down when it is stopped by %s",
    async (signal, code) => {
      const { child, screen, ended } = running("node", ["scripts/demo.mjs"]);
      await until("the host is up", () => screen().includes("$ clm host check"));
      child.kill(signal);
      expect(await ended, screen()).toBe(code);
      expect(await leftBehind()).toEqual(nothing);
    },
    300_000,
  );

  it("takes its lab down when its terminal is closed", async () => {
    const { child, screen, ended } = running("script", ["-qfec", "npm run demo", "/dev/null"]);
    await until("the host is up", () => screen().includes("$ clm host check"));
    child.kill("SIGKILL");
    await ended;
    await until("everything is gone", async () => {
      const left = await leftBehind();
      return left.labs.length + left.files.length + left.processes.length === 0;
    });
  }, 300_000);
});

describe("npm test", () => {
  it("ends its tests and takes their labs down when it is stopped", async () => {
    // No test has this name: the labs start, and nothing runs on them.
    const { child, screen, ended } = running("node", ["scripts/test.mjs", "agents", "-t", "no test has this name"]);
    const isUp = async () => {
      const own = readdirSync(scratch).find((name) => name.startsWith("clm-test-"));
      if (!own) return false;
      const at = join(scratch, own, "lab-agents");
      const { stdout } = await clm(["lab", "status", "-o", "json"], { home, env: { CLM_LAB_DIR: at } });
      return stdout.includes("running");
    };
    await until("a lab host is up", isUp);
    child.kill("SIGINT");
    expect(await ended, screen()).toBe(130);
    expect(await leftBehind()).toEqual(nothing);
  }, 300_000);
});
