import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { overlaysIn } from "../../../../src/agents/manifest/files.js";
import { isOurs, mustBeOurs, writableByOthers } from "../../../../src/state/config-dir.js";
import { clm } from "../../cli/world.js";
import { scratchDirectories } from "../../state/scratch.js";

const scratch = scratchDirectories();

function withManifest(modes: { dir: number; file: number }): string {
  const root = scratch();
  const dir = join(root, "manifests");
  mkdirSync(dir);
  writeFileSync(join(dir, "a.yaml"), "type: hermes\n");
  chmodSync(join(dir, "a.yaml"), modes.file);
  chmodSync(dir, modes.dir);
  return root;
}

it.each([
  ["closed", 0o700, 0o600, true],
  ["open to readers", 0o755, 0o644, true],
  ["writable by the user's own group", 0o775, 0o664, true],
  ["a directory that everyone can write", 0o757, 0o644, false],
  ["a directory like /tmp", 0o1777, 0o644, false],
  ["a file that everyone can write", 0o755, 0o646, false],
])("manifests: %s", (_, dir, file, fine) => {
  const root = withManifest({ dir, file });
  if (fine) expect(overlaysIn(root)).toHaveLength(1);
  else
    expect(() => overlaysIn(root)).toThrow(
      expect.objectContaining({ fault: "bad-input", next: [expect.stringMatching(/^chmod go-w /)] }),
    );
});

it("a world-writable directory is refused before its files are used", async () => {
  const root = withManifest({ dir: 0o777, file: 0o644 });
  const { code, stderr } = await clm(["agent", "channels"], { env: { HOME: root, CLM_HOME: root } });
  expect([code, stderr]).toEqual([2, expect.stringContaining("manifests can be written by others")]);
});

it("another group than the user's own is others", () => {
  expect(writableByOthers({ mode: 0o775, gid: 5 }, 5)).toBe(false);
  expect(writableByOthers({ mode: 0o775, gid: 6 }, 5)).toBe(true);
  expect(writableByOthers({ mode: 0o755, gid: 6 }, 5)).toBe(false);
});

it("a config directory of another user is refused, and one that is missing is not", () => {
  const root = scratch();
  const own = process.geteuid?.() ?? 0;
  expect(() => mustBeOurs(root)).not.toThrow();
  expect(() => mustBeOurs(join(root, "missing"))).not.toThrow();
  expect(() => mustBeOurs(root, own + 1)).toThrow(expect.objectContaining({ fault: "state-exposed" }));
});

it("is accepted by root through sudo of its owner", () => {
  const [root, owner] = [0, 1000];
  expect(isOurs({ uid: owner }, root, { SUDO_UID: "1000" })).toBe(true);
  expect(isOurs({ uid: owner }, root, { SUDO_UID: "1001" })).toBe(false);
  expect(isOurs({ uid: owner }, root, {})).toBe(false);
  expect(isOurs({ uid: owner }, 1001, { SUDO_UID: "1000" })).toBe(false);
});

it.runIf(process.geteuid?.() === 0)("no command reads one, as root neither", async () => {
  const root = scratch();
  chownSync(root, 12345, 12345);
  const { code, stderr } = await clm(["host", "list"], { env: { HOME: root, CLM_HOME: root } });
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining("belongs to another user")]);
});
