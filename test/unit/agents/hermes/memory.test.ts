import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { entriesOf, files, surprisesIn } from "../../../../src/agents/hermes/memory.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { findMemoryFile, lengthOf, mustFit, normalizeText } from "../../../../src/agents/memory/memory.js";
import { pathsFor, type ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { Fault } from "../../../../src/errors.js";
import { faultOf } from "../../state/scratch.js";

interface Case {
  name: string;
  file: string;
  version?: string;
  text?: string;
  base64?: string;
  repeat?: number;
  end?: string;
  expect: { text?: string; length?: number; entries?: number; notes?: number; surprises?: string[]; fault?: string };
}

const { manifest } = await loadType("/nonexistent", "hermes");

function agent(version = "2026.7.1"): ResolvedAgent {
  const release = manifest.versions[version];
  if (!release) throw new Error(`the manifest has no ${version}`);
  return {
    manifest,
    version,
    release,
    host: "lab-1",
    name: "ada",
    user: "ada",
    unit: "hermes-ada.service",
    ...{
      ref: "ada",
      adopted: false,
      channels: [],
      servers: [],
      settings: {},
      serves: "http" as const,
      port: 8642,
      relaxed: false,
      paths: pathsFor(manifest, "ada"),
    },
  };
}

const find = (about: ResolvedAgent, name: string | undefined) => findMemoryFile("hermes", files(about), name);

function outcome({ file: name, version, text = "", base64, repeat = 1, end = "" }: Case): Case["expect"] {
  const about = agent(version);
  const file = find(about, name);
  const bytes = base64 ? Buffer.from(base64, "base64") : Buffer.from(text.repeat(repeat) + end);
  try {
    const { text: kept, notes } = normalizeText(file, bytes);
    mustFit("hermes", file, kept, entriesOf(kept));
    return {
      text: kept,
      length: lengthOf(kept),
      ...(file.entries && { entries: entriesOf(kept).length }),
      notes: notes.length,
      surprises: surprisesIn(about, file, kept),
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: error.message };
  }
}

describe("a text for a memory file", () => {
  const cases: Case[] = parse(readFileSync("test/cases/memory/texts.yaml", "utf8"));

  it.each(cases)("$name", (each) => {
    const { notes = 0, surprises = [], ...expected } = each.expect;
    const { surprises: found = [], ...seen } = outcome(each);
    expect(seen).toMatchObject(expected.fault ? expected : { ...expected, notes });
    expect(found.map((line, index) => line.includes(surprises[index] ?? "nothing") || line)).toEqual(
      surprises.map(() => true),
    );
  });
});

describe("the files an agent remembers in", () => {
  it("are where the manifest says, and only those of the memories' directory are lists", () => {
    expect(files(agent()).map(({ name, path, entries, lock }) => [name, path, entries, lock])).toEqual([
      ["MEMORY.md", "/home/ada/.hermes/memories/MEMORY.md", true, true],
      ["USER.md", "/home/ada/.hermes/memories/USER.md", true, true],
      ["SOUL.md", "/home/ada/.hermes/SOUL.md", false, false],
    ]);
  });

  it("start with the agent's notes, the default", () => {
    expect(find(agent(), undefined).name).toBe("MEMORY.md");
  });

  it.each(["NOTES.md", "memory.md", "../SOUL.md", "/etc/passwd", "MEMORY.md.lock", "", "constructor", ".env"])(
    "are not %j",
    (word) => {
      expect(() => find(agent(), word)).toThrow("hermes memory accepts only MEMORY.md and USER.md");
    },
  );

  it.each([
    ["user.md", "USER.md"],
    ["Memory.MD", "MEMORY.md"],
    ["usr.md", "USER.md"],
  ])("are not %j, which was meant to be %s", async (word, meant) => {
    const { message, why } = await faultOf(() => find(agent(), word));
    expect(message).toBe("hermes memory accepts only MEMORY.md and USER.md");
    expect(why[0]).toBe(`'${word}' is not one of them; did you mean '${meant}'?`);
  });

  it("include SOUL.md, which is named in the error for an unknown file", () => {
    try {
      find(agent(), "SOULS.md");
      expect.unreachable();
    } catch (error) {
      expect((error as Fault).why.join("\n")).toMatch(/did you mean 'SOUL.md'\?\nSOUL.md is accepted too/);
    }
  });
});
