import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import library from "../../../../../src/flows/agent/exec/exec-leash.sh?raw";
import { letGo } from "../../../../../src/remote/leash.js";
import beat from "../../../../../src/remote/leash.sh?raw";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clm-leash-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The host's output, and whether units may still start. */
async function held(timeout: number, then: (stdin: Writable, stdout: Readable) => void) {
  const sign = join(folder, "run", "sign");
  const here = `nonce=n silence=${timeout}; systemctl() { echo "systemctl $*" >'${join(folder, "ended")}'; }; hold '${sign}' 'units-*'`;
  const child = spawn("/bin/sh", ["-c", `${beat}${library}${here}`], { stdio: ["pipe", "pipe", "ignore"] });
  let said = "";
  child.stdout.on("data", (chunk) => {
    const before = said.includes("held");
    said += chunk;
    if (before || !said.includes("held")) return;
    expect(existsSync(sign)).toBe(true);
    then(child.stdin, child.stdout);
  });
  await once(child, "exit");
  const ended = join(folder, "ended");
  return { said, ended: existsSync(ended) && readFileSync(ended, "utf8"), may: existsSync(sign) };
}

const ended = { said: "n held\nn lost\nn released\n", ended: "systemctl stop units-*\n", may: false };

it("units are ended when clm is gone", async () => {
  expect(await held(60, (stdin) => stdin.end("."))).toEqual(ended);
});

it("units are ended when clm falls silent on an open connection", async () => {
  expect(await held(1, (stdin) => stdin.write("."))).toEqual(ended);
});

it("units are ended even when the host cannot report it", async () => {
  const gone = (stdin: Writable, stdout: Readable) => {
    stdout.destroy();
    stdin.end();
  };
  expect(await held(60, gone)).toEqual({ ...ended, said: "n held\n" });
});

it("nothing is ended when all is done", async () => {
  expect(await held(60, (stdin) => stdin.end(`.${letGo}`))).toEqual({
    said: "n held\nn released\n",
    ended: false,
    may: false,
  });
});
