import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tarMembers } from "../../../../../src/flows/agent/remove/tar.js";

const folder = mkdtempSync(join(tmpdir(), "clm-tar-"));
const good = join(folder, "good.tar.gz");
const spoiled = join(folder, "spoiled.tar.gz");
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(() => {
  const files = { "MEMORY.md": "remember\n", empty: "", large: "x".repeat(300_000) };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  execFileSync("tar", ["-C", folder, "-czf", good, ...Object.keys(files)]);
});

const spoil = (change: (bytes: Buffer) => Buffer) => writeFileSync(spoiled, change(readFileSync(good)));
const unpacked = (change: (bytes: Buffer) => Buffer) => spoil((bytes) => gzipSync(change(gunzipSync(bytes))));

describe("reading a backup back", () => {
  it("lists its members", async () => {
    expect(await tarMembers(good)).toEqual(["MEMORY.md", "empty", "large"]);
  });

  it("refuses an archive that is too large", async () => {
    await expect(tarMembers(good, { bytes: 100_000 })).rejects.toThrow("larger than the data of an agent");
    // A few bytes spell a million blocks of zeros.
    writeFileSync(spoiled, gzipSync(Buffer.alloc(64 * 1024 * 1024)));
    await expect(tarMembers(spoiled, { bytes: 1024 * 1024 })).rejects.toThrow("larger than the data of an agent");
    await expect(tarMembers(good, { members: 1 })).rejects.toThrow("larger than the data of an agent");
  });

  it("stops on abort", async () => {
    await expect(tarMembers(good, { signal: AbortSignal.abort() })).rejects.toThrow();
  });

  it("finds nothing in an empty one", async () => {
    writeFileSync(spoiled, gzipSync(Buffer.alloc(10_240)));
    expect(await tarMembers(spoiled)).toEqual([]);
  });

  it.each<[string, () => void]>([
    ["cut short", () => spoil((bytes) => bytes.subarray(0, -20))],
    ["cut short before it was packed", () => unpacked((bytes) => bytes.subarray(0, 4096))],
    // Three headers, one block of content and 586.
    ["without its end", () => unpacked((bytes) => bytes.subarray(0, 512 * (3 + 1 + 586)))],
    ["with a wrong byte in a header", () => unpacked((bytes) => Buffer.concat([Buffer.from("m"), bytes.subarray(1)]))],
    ["with a wrong byte in what is packed", () => spoil((bytes) => bytes.fill(0, bytes.length - 8, bytes.length - 4))],
    ["that is no archive", () => writeFileSync(spoiled, "<html>")],
    ["of no bytes", () => writeFileSync(spoiled, "")],
  ])("refuses one %s", async (_, make) => {
    make();
    await expect(tarMembers(spoiled)).rejects.toThrow();
  });
});
