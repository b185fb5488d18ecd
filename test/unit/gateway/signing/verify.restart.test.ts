import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { signedHeaders, signerOf } from "../../../../src/gateway/signing/sign.js";
import { Secret } from "../../../../src/secret.js";
import { bundleScript } from "../../../faults/bundle.js";
import { scratchDirectories } from "../../state/scratch.js";
import { covered } from "./covered.js";

/** A server that verifies, as a process: killed without warning, and on a disk that takes no more. */

const key = `clm_abcd1234_${"k".repeat(43)}`;
const signer = signerOf(new Secret(key));
const scratch = scratchDirectories();
let bundle: Awaited<ReturnType<typeof bundleScript>>;
beforeAll(async () => {
  bundle = await bundleScript("test/unit/gateway/signing/verifying-process.ts");
});
afterAll(() => bundle.remove());

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

async function start(dir: string, before = "") {
  const child = spawn("/bin/sh", ["-c", `${before} exec "$@"`, "sh", process.execPath, bundle.script, dir], {
    env: { ...process.env, KEY: key },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  const [url] = (await once(createInterface(child.stdout as Readable), "line")) as [string];
  return {
    url,
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

function signed(nonce: string): RequestInit {
  if (!signer) throw new Error("no key");
  const body = Buffer.from(nonce);
  const toSign = { method: "POST", url: "/v1/x", body, keyId: signer.id, now: new Date(), nonce, covered };
  return { method: "POST", body, headers: signedHeaders(signer.secret, toSign) };
}

const nonceFor = (index: number) => `nonce-${String(index).padStart(16, "0")}`;

async function codeOf(url: string, request: RequestInit): Promise<string> {
  const answer = await fetch(`${url}/v1/x`, request);
  const text = await answer.text();
  return answer.status === 200 ? "ok" : JSON.parse(text).error.code;
}

it("a request answered before kill -9 is refused after it", async () => {
  const dir = scratch();
  const first = await start(dir);
  const requests = Array.from({ length: 50 }, (_, index) => signed(nonceFor(index)));
  expect(await Promise.all(requests.map((each) => codeOf(first.url, each)))).toEqual(requests.map(() => "ok"));
  await first.kill();
  const second = await start(dir);
  expect(await Promise.all(requests.map((each) => codeOf(second.url, each)))).toEqual(
    requests.map(() => "request_replayed"),
  );
  expect(await codeOf(second.url, signed(nonceFor(99)))).toBe("ok");
});

it("killed among many requests, every answered one is refused", async () => {
  const dir = scratch();
  const first = await start(dir);
  const passed: RequestInit[] = [];
  const one = async (index: number): Promise<void> => {
    const request = signed(nonceFor(index));
    const code = await codeOf(first.url, request).catch(() => "cut");
    if (code === "ok") passed.push(request);
    if (passed.length === 100) void first.kill();
    if (code !== "cut") await one(index + 16);
  };
  await Promise.all(Array.from({ length: 16 }, (_, index) => one(index)));
  expect(passed.length).toBeGreaterThanOrEqual(100);
  const second = await start(dir);
  expect(new Set(await Promise.all(passed.map((each) => codeOf(second.url, each))))).toEqual(
    new Set(["request_replayed"]),
  );
});

it("on a full disk every request is refused, and no accepted nonce is lost", async () => {
  const dir = scratch();
  // A file may have one block, which ends in the middle of a line.
  const full = await start(dir, "ulimit -f 1;");
  const passed: RequestInit[] = [];
  const ends: string[] = [];
  for (let index = 0; index < 60; index++) {
    const request = signed(nonceFor(index));
    const code = await codeOf(full.url, request);
    ends.push(code);
    if (code === "ok") passed.push(request);
  }
  expect(passed.length).toBeGreaterThan(0);
  expect(ends).toEqual(ends.map((_, index) => (index < passed.length ? "ok" : "nonces_unavailable")));
  expect(ends.at(-1)).toBe("nonces_unavailable");
  await full.kill();
  const after = await start(dir);
  for (const each of passed) expect(await codeOf(after.url, each)).toBe("request_replayed");
  expect(await codeOf(after.url, signed(nonceFor(99)))).toBe("ok");
  for (const file of readdirSync(join(dir, "nonces"))) {
    for (const line of readFileSync(join(dir, "nonces", file), "utf8")
      .split("\n")
      .slice(0, -1)) {
      expect(line).toMatch(/^abcd1234 nonce-\d{16} \d{10}$/);
    }
  }
});
