import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withLock } from "../../../src/lab/lock.js";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "clm-lab-lock-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe.skipIf(process.platform !== "linux")("a lock on a directory", () => {
  it("lets one in at a time", async () => {
    let inside = 0;
    const work = async () => {
      expect(++inside).toBe(1);
      await sleep(5);
      inside--;
    };
    await Promise.all(Array.from({ length: 8 }, () => withLock(home, {}, work)));
  });

  it("is free again after a failure", async () => {
    await expect(withLock(home, {}, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await withLock(home, {}, async () => "in")).toBe("in");
  });

  it("makes the directory, and makes it again when its owner took it away meanwhile", async () => {
    const directory = join(home, "lab");
    let second: Promise<boolean> | undefined;
    await withLock(directory, {}, async () => {
      second = withLock(directory, {}, async () => existsSync(directory));
      await sleep(50);
      await rm(directory, { recursive: true });
    });
    expect(await second).toBe(true);
  });

  it("reports that it waits, and stops waiting on abort", async () => {
    const stop = new AbortController();
    await withLock(home, {}, async () => {
      const options = { signal: stop.signal, waiting: () => stop.abort() };
      await expect(withLock(home, options, async () => "in")).rejects.toMatchObject({ fault: "interrupted" });
    });
  });
});
