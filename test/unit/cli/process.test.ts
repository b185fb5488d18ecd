import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

/** clm as a real process, with commands that stand for what real ones may do. */

const directory = mkdtempSync(join(tmpdir(), "clm-live-"));
const program = join(directory, "clm.mjs");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

beforeAll(async () => {
  await build({
    entryPoints: ["src/main.ts"],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["cpu-features", "*.node", "inquirer", "../lab/*", "../../lab/*"],
    define: { __CLM_VERSION__: '"1.2.3"' },
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    plugins: [
      {
        name: "try-catalog",
        setup: (builder) => {
          builder.onResolve({ filter: /\/catalog\.js$/ }, () => ({ path: resolve("test/unit/cli/try-catalog.ts") }));
          builder.onResolve({ filter: /(completion-names|flows\/session)\.js$/ }, () => ({
            path: "late",
            external: true,
          }));
        },
      },
    ],
    logLevel: "error",
  });
});

const started = new Set<ChildProcessByStdio<null, Readable, Readable>>();
afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
});

interface Ended {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** Starts it, and acts once it printed that it waits. */
function start(
  argv: string[],
  whenWaiting?: (child: ChildProcessByStdio<null, Readable, Readable>) => void,
): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    const first = !stdout.includes("waiting");
    stdout += chunk;
    if (first && stdout.includes("waiting")) whenWaiting?.(child);
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((done) => child.on("close", (code, signal) => done({ code, signal, stdout, stderr })));
}

/** A second signal, once the first was noticed. */
const again = (child: ChildProcessByStdio<null, Readable, Readable>, signal: NodeJS.Signals) =>
  child.stderr.once("data", () => void child.kill(signal));

describe("signals", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("the first %s stops safely", async (signal) => {
    const { code, stderr } = await start(["try", "wait"], (child) => void child.kill(signal));
    expect(code).toBe(130);
    expect(stderr).toBe(
      "patience ...\nstopping safely; press Ctrl-C again to stop at once\nerror: stopped before it was done [CLM-7001]\n",
    );
  });

  it.each(["SIGINT", "SIGTERM"] as const)("one %s ends also what never stops by itself", async (signal) => {
    const { code, stderr } = await start(["try", "stubborn"], (child) => void child.kill(signal));
    expect(code).toBe(130);
    expect(stderr).toContain(
      "error: stopped before it was done [CLM-7001]\n  it had not stopped by itself after 1.5 s",
    );
  });

  it("one SIGTERM ends it although its output is not read", async () => {
    const child = spawn(process.execPath, [program, "try", "flood"], { stdio: ["ignore", "pipe", "pipe"] });
    started.add(child);
    await new Promise((resolve) => child.stdout.once("readable", resolve));
    child.kill("SIGTERM");
    expect(await new Promise((done) => child.on("exit", done))).toBe(130);
  });

  it("the second ends at once", async () => {
    const { code, stderr } = await start(["try", "stubborn"], (child) => {
      child.kill("SIGINT");
      again(child, "SIGINT");
    });
    expect(code).toBe(130);
    expect(stderr).toBe("stopping safely; press Ctrl-C again to stop at once\n");
  });
});

describe("the end", () => {
  it("comes although something is left open, and after the last byte", async () => {
    const { code, stdout } = await start(["try", "hang"]);
    expect(code).toBe(0);
    expect(stdout.length).toBe(300_001);
  });

  it("is 70 for an uncaught error", async () => {
    const { code, stderr } = await start(["try", "crash"]);
    expect(code).toBe(70);
    expect(stderr).toMatch(/^error: nobody caught this \[CLM-9001\]\n/);
  });

  it("is 70, not 0, for a promise that never settles", async () => {
    const { code, stderr } = await start(["try", "stall"]);
    expect(code).toBe(70);
    expect(stderr).toMatch(/^error: the command waits for something that never happens \[CLM-9001\]\n/);
  });

  it("aborts the command with a reason when the reader leaves", () => {
    const line = `"${process.execPath}" "${program}" try flood --debug | head -n 1`;
    const { stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
    expect(stderr).toContain("stopped: the reader of the output closed it\n");
  });

  it("is quiet when the reader goes away", () => {
    const line = `"${process.execPath}" "${program}" try flood | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
    expect(stdout.split("\n").slice(1)).toEqual(["141", ""]);
    expect(stderr).toBe("");
  });

  it("is an error when the result cannot be written", () => {
    const line = `"${process.execPath}" "${program}" try one > /dev/full`;
    const { status, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
    expect(status).toBe(7);
    expect(stderr).toContain("error: the result could not be written [CLM-1008]");
  });

  it.each(["--version", "version"])("%s answers at once", async (word) => {
    expect(await start([word])).toMatchObject({ code: 0, stdout: "clm 1.2.3\n", stderr: "" });
  });

  it.each([
    [["try", "w"], "wait\tdo try wait\n"],
    [["try", "nothing", ""], ""],
    [[], "try\ttry things\nhelp\tshow help\n"],
  ])("__complete never complains: %j", async (words, stdout) => {
    expect(await start(["__complete", "--", ...words])).toMatchObject({ code: 0, stdout, stderr: "" });
  });
});
