import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";

const leash = readFileSync("src/flows/tunnel/leashed.sh", "utf8");

// What is left when the leash ends, its unit ends; here the test does.
const begun: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of begun.splice(0)) {
    try {
      process.kill(-(pid ?? Number.NaN), "SIGKILL");
    } catch {
      // All of it has ended.
    }
  }
});

function leashed(patience: number, ...words: string[]): ChildProcess {
  const child = spawn("/bin/sh", ["-c", `patience=${patience}\n${leash}`, "sh", ...words], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  begun.push(child);
  return child;
}

const ending = async (child: ChildProcess) =>
  (await once(child, "exit")) as [code: number | null, signal: string | null];

describe("what runs on a leash", () => {
  it("ends with its own code when it ends by itself", async () => {
    expect(await ending(leashed(60, "sh", "-c", "exit 7"))).toEqual([7, null]);
  });

  it("ends when nobody holds it any more", async () => {
    const child = leashed(60, "sleep", "61");
    child.stdin?.end();
    expect(await ending(child)).toEqual([null, "SIGTERM"]);
  });

  it("lives while it is written to, and ends when that stops", async () => {
    const child = leashed(1, "sleep", "62");
    let beats = 0;
    const beating = setInterval(() => {
      child.stdin?.write(".");
      if (++beats === 5) clearInterval(beating);
    }, 400);
    expect(await ending(child)).toEqual([null, "SIGTERM"]);
    expect(beats).toBe(5);
  });

  it("does not read what is written to the leash", async () => {
    const child = leashed(60, "cat");
    let said = "";
    child.stdout?.on("data", (chunk) => {
      said += chunk;
    });
    child.stdin?.write("..");
    expect(await ending(child)).toEqual([0, null]);
    expect(said).toBe("");
  });
});
