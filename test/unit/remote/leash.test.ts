import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { leash, letGo } from "../../../src/remote/leash.js";
import library from "../../../src/remote/leash.sh?raw";

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

function held(script: string): ChildProcess {
  const child = spawn("/bin/sh", ["-c", script], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  begun.push(child);
  return child;
}
const beat = (timeout: number) => held(`silence=${timeout}\n${library}\nbeat`);
const codeOf = async (child: ChildProcess) => ((await once(child, "exit")) as [number | null])[0];

describe("a leash", () => {
  it("is let go when all is done", async () => {
    const child = held(`${leash}\nbeat`);
    child.stdin?.write(`..${letGo}`);
    expect(await codeOf(child)).toBe(0);
  });

  it("ends when its writer is gone", async () => {
    const child = beat(60);
    child.stdin?.end("..");
    expect(await codeOf(child)).toBe(1);
  });

  it("holds while it is written to, and ends when that stops although it is open", async () => {
    const child = beat(1);
    let beats = 0;
    const beating = setInterval(() => {
      child.stdin?.write(".");
      if (++beats === 5) clearInterval(beating);
    }, 400);
    expect(await codeOf(child)).toBe(1);
    expect(beats).toBe(5);
  });
});
