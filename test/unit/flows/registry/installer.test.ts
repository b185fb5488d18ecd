import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Release } from "../../../../src/agents/manifest/manifest.js";
import { type FaultName, isFault } from "../../../../src/errors.js";
import { digestOf } from "../../../../src/flows/registry/bytes.js";
import { type Fetching, type FetchOptions, fetchInstaller } from "../../../../src/flows/registry/installer.js";
import type { Ui } from "../../../../src/ui/ui.js";
import { type Unsound, unsoundServer, type Way } from "./unsound-server.js";

const bytes = Buffer.from(`#!/bin/sh\n${"echo installing\n".repeat(400)}`);
const pinned = digestOf(bytes);
let server: Unsound;
let dir: string;
const told: string[] = [];

beforeAll(async () => {
  server = await unsoundServer(bytes);
});
afterAll(() => server.close());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "clm-installer-"));
  told.length = 0;
  server.asked.length = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const release = (url: string): NonNullable<Release["installer"]> => ({ url, ...pinned });
const cache = () => join(dir, "cache", pinned.sha256);
const kept = () => (existsSync(join(dir, "cache")) ? readdirSync(join(dir, "cache")) : []);

function session(more: Partial<Fetching> = {}): Fetching {
  const tell = (kind: string) => (text?: string) => void told.push(`${kind}${text ? `: ${text}` : ""}`);
  const progress = { update: tell("update"), output: tell("output"), done: tell("done"), fail: tell("fail") };
  const ui = { warn: tell("warn"), note: tell("note"), progress: () => progress } as unknown as Ui;
  const argv = ["agent", "install", "--name", "a b"];
  return { ui, configDir: dir, signal: new AbortController().signal, argv, gate: { dryRun: false }, ...more };
}

const fetched = (way: Way, options: FetchOptions = {}, more: Partial<Fetching> = {}) =>
  fetchInstaller(session(more), release(server.url(way)), options);

async function fault(work: Promise<unknown>) {
  const error = await work.then(
    () => new Error("it went well"),
    (reason) => reason,
  );
  if (!isFault(error)) throw error;
  return error;
}

describe("a correct download", () => {
  it.each<Way>(["right", "right, without a length", "in small pieces"])("%s", async (way) => {
    const installer = await fetched(way);
    expect(installer).toEqual({ bytes, sha256: pinned.sha256 });
    expect(readFileSync(cache())).toEqual(bytes);
    expect(statSync(cache()).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, "cache")).mode & 0o777).toBe(0o700);
    expect(kept()).toEqual([pinned.sha256]);
    expect(told.slice(-2)).toEqual([`update: ${bytes.length} of ${bytes.length} bytes`, "done"]);
  });
});

describe("what does not is never kept", () => {
  const quick = { idle: 100, whole: 10_000 };
  it.each<[way: Way, fault: FaultName, why: RegExp, options?: FetchOptions]>([
    ["a flipped bit", "integrity", new RegExp(`^seen: +${bytes.length} bytes, sha256 (?!${pinned.sha256})`, "m")],
    ["cut short, and says so", "integrity", new RegExp(`^seen: +${bytes.length - 5} bytes`, "m")],
    ["cut short, and says it is whole", "integrity", /it was cut short: aborted/],
    ["cut short, without a length", "integrity", new RegExp(`^seen: +${bytes.length - 5} bytes`, "m")],
    ["one byte too many", "integrity", new RegExp(`longer than ${bytes.length} bytes`)],
    ["no end", "integrity", new RegExp(`longer than ${bytes.length} bytes`)],
    ["a web page", "integrity", /it is a web page, not a script/],
    ["empty", "integrity", /^seen: +0 bytes/m],
    ["302 to the right bytes", "integrity", /it answered 302, a redirect to \/right; clm does not follow it/],
    ["301 to elsewhere", "integrity", /it answered 301, a redirect to http:\/\/192\.0\.2\.1\/x/],
    ["304", "integrity", /it answered 304, a redirect;/],
    ["reset in the middle", "integrity", /it was cut short: (aborted|read ECONNRESET)/],
    ["stops in the middle", "integrity", /it was cut short: no data for 0.1 s/, quick],
    ["ever slower than the patience", "integrity", /it took longer than 0.2 s/, { idle: 10_000, whole: 200 }],
    ["no answer", "unreachable", /^no data for 0.1 s$/m, quick],
    ["hangs up", "unreachable", /socket hang up/],
    ["404", "unreachable", /it answered 404 Not Found/],
    ["500 with the right bytes", "unreachable", /it answered 500/],
    ["206 with the right bytes", "unreachable", /it answered 206/],
  ])("%s: %s", async (way, name, why, options) => {
    const error = await fault(fetched(way, options));
    expect([error.fault, error.why.join("\n")]).toEqual([name, expect.stringMatching(why)]);
    expect(error.exit).toBe(name === "integrity" ? 30 : 10);
    expect(error.next).toEqual([
      `clm agent install --name 'a b' --installer-file PATH   # a copy of ${server.url(way)} fetched elsewhere`,
    ]);
    if (error.why.length > 1) expect(error.why[0]).toBe(`pinned: ${bytes.length} bytes, sha256 ${pinned.sha256}`);
    expect(kept()).toEqual([]);
    expect(told.at(-1)).toBe("fail");
    expect(server.asked).toEqual([way]);
  });

  it("no server", async () => {
    const idle = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => idle.once("listening", resolve));
    const { port } = idle.address() as { port: number };
    await new Promise((resolve) => idle.close(resolve));
    const error = await fault(fetchInstaller(session(), release(`http://127.0.0.1:${port}/x`)));
    expect([error.fault, error.why[0]]).toEqual(["unreachable", expect.stringContaining("ECONNREFUSED")]);
    expect(error.next[0]).toContain("--installer-file PATH");
  });

  it("the user stops it", async () => {
    const stop = new AbortController();
    const work = fetched("stops in the middle", {}, { signal: stop.signal });
    const reason = new Error("stopped");
    setTimeout(() => stop.abort(reason), 50);
    await expect(work).rejects.toBe(reason);
    expect(kept()).toEqual([]);
  });
});

describe("the cache", () => {
  it("is asked before the network", async () => {
    await fetched("right");
    expect((await fetched("404")).bytes).toEqual(bytes);
    expect(server.asked).toEqual(["right"]);
  });

  it.each<[string, () => void]>([
    ["other bytes of the same length", () => writeFileSync(cache(), Buffer.alloc(bytes.length, "x"))],
    ["half of it", () => writeFileSync(cache(), bytes.subarray(0, 100))],
    ["a directory", () => mkdirSync(cache())],
    [
      "a link",
      () => {
        writeFileSync(join(dir, "elsewhere"), bytes);
        symlinkSync(join(dir, "elsewhere"), cache());
      },
    ],
  ])("damaged, it is dropped and fetched again: %s", async (_, damage) => {
    mkdirSync(join(dir, "cache"), { recursive: true });
    chmodSync(dir, 0o700);
    damage();
    expect((await fetched("right")).bytes).toEqual(bytes);
    expect(server.asked).toEqual(["right"]);
    expect(told[0]).toContain("is not the installer it was kept as");
    expect(readFileSync(cache())).toEqual(bytes);
    expect(statSync(cache()).isFile()).toBe(true);
  });

  it("damaged, and nothing better comes: it is gone", async () => {
    mkdirSync(join(dir, "cache"), { recursive: true });
    writeFileSync(cache(), "x");
    expect((await fault(fetched("a flipped bit"))).fault).toBe("integrity");
    expect(kept()).toEqual([]);
  });

  it("takes two at once", async () => {
    const all = await Promise.all([fetched("in small pieces"), fetched("right"), fetched("right")]);
    for (const installer of all) expect(installer.bytes).toEqual(bytes);
    expect(kept()).toEqual([pinned.sha256]);
  });

  it("stays as it is in a dry run", async () => {
    expect((await fetched("right", {}, { gate: { dryRun: true } })).bytes).toEqual(bytes);
    expect(kept()).toEqual([]);
  });
});

describe("a file", () => {
  const put = (name: string, content: Buffer | string) => {
    const path = join(dir, name);
    writeFileSync(path, content);
    return path;
  };

  it("of the user's is checked and kept", async () => {
    const file = put("install.sh", bytes);
    expect((await fetched("404", { file })).bytes).toEqual(bytes);
    expect([kept(), server.asked]).toEqual([[pinned.sha256], []]);
  });

  it("of the user with another digest is refused, even when the right one is cached", async () => {
    await fetched("right");
    const error = await fault(fetched("right", { file: put("install.sh", "#!/bin/sh\nrm -rf /\n") }));
    expect([error.fault, error.next]).toEqual(["integrity", []]);
  });

  it.each([
    ["missing", () => join(dir, "nothing")],
    ["a directory", () => dir],
  ])("of the user's that cannot be read: %s", async (_, file) => {
    expect((await fault(fetched("right", { file: file() }))).fault).toBe("not-found");
    expect(server.asked).toEqual([]);
  });

  it("that a manifest names", async () => {
    const url = pathToFileURL(put("lab installer.sh", bytes)).href;
    expect((await fetchInstaller(session(), release(url))).bytes).toEqual(bytes);
    rmSync(join(dir, "lab installer.sh"));
    rmSync(cache());
    expect((await fault(fetchInstaller(session(), release(url)))).fault).toBe("unreachable");
  });
});
