import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readLastStatuses, saveLastStatuses } from "../../../src/state/last-status.js";
import { scratchDirectories } from "./scratch.js";

const seen = (state: string, at = "2026-01-02T03:04:05.000Z") => ({ at, state });
const scratch = scratchDirectories();
const everybody = () => true;

it("keeps observations, and drops removed agents", () => {
  const dir = join(scratch(), "config");
  expect(readLastStatuses(dir)).toEqual({});
  expect(
    saveLastStatuses(dir, { "wolf:hermes:ada": seen("running"), "wolf:hermes:bob": seen("failed") }, everybody),
  ).toBe(true);
  expect(statSync(join(dir, "sightings.json")).mode & 0o777).toBe(0o600);
  saveLastStatuses(dir, { "wolf:hermes:ada": seen("degraded") }, everybody);
  expect(readLastStatuses(dir)).toEqual({ "wolf:hermes:ada": seen("degraded"), "wolf:hermes:bob": seen("failed") });
  saveLastStatuses(dir, {}, (key) => key.endsWith("bob"));
  expect(readLastStatuses(dir)).toEqual({ "wolf:hermes:bob": seen("failed") });
});

it.each(["", "{", "[]", '{"version":1}', '{"version":2,"agents":{}}', '{"version":1,"agents":{"a":{"at":1}}}'])(
  "a file that says %j says nothing, and is written anew",
  (text) => {
    const dir = scratch();
    writeFileSync(join(dir, "sightings.json"), text);
    expect(readLastStatuses(dir)).toEqual({});
    expect(saveLastStatuses(dir, { "wolf:hermes:ada": seen("running") }, everybody)).toBe(true);
    expect(JSON.parse(readFileSync(join(dir, "sightings.json"), "utf8"))).toEqual({
      version: 1,
      agents: { "wolf:hermes:ada": seen("running") },
    });
  },
);

it("works read-only without write permission", () => {
  const file = join(scratch(), "file");
  writeFileSync(file, "");
  expect(saveLastStatuses(join(file, "config"), { "wolf:hermes:ada": seen("running") }, everybody)).toBe(false);
  const dir = scratch();
  mkdirSync(join(dir, "sightings.json"));
  expect(readLastStatuses(dir)).toEqual({});
  expect(saveLastStatuses(dir, { "wolf:hermes:ada": seen("running") }, everybody)).toBe(false);
});
