import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { reference } from "../../../scripts/reference.js";
import { answerShell, complete } from "../../../src/cli/complete.js";
import { commandsOf, everyNoun } from "../../../src/cli/nouns.js";
import { parse } from "../../../src/cli/parse.js";
import { isFault } from "../../../src/errors.js";
import { hostNameFrom } from "../../../src/names.js";
import { hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { sampleAgent } from "../state/sample-agent.js";
import { clm } from "./world.js";

vi.mock("../../../src/cli/catalog.js", () => import("./try-catalog.js"));

/** `clm try inner …` and `clm try inner core …`: nouns within a noun. */

describe("a command line", () => {
  it.each([
    ["try inner show a b --loud", "try inner show", { what: "a", part: "b" }],
    ["try inner show inner one", "try inner show", { what: "inner", part: "one" }],
    ["try --debug inner --debug show a", "try inner show", { what: "a", part: undefined }],
    ["--config-dir /x try inner core melt", "try inner core melt", {}],
    ["try one", "try one", {}],
    ["try inner one", "try inner one", {}],
  ])("%s", async (line, path, args) => {
    const asked = await parse(line.split(" "));
    expect(asked).toMatchObject({ kind: "run", command: { path }, input: { args } });
  });

  it("runs", async () => expect((await clm(["try", "inner", "core", "melt"])).code).toBe(9));

  it.each([
    ["try iner show", "clm try has no command 'iner' | did you mean 'clm try inner'? | → clm try --help"],
    [
      "try inner sow",
      "clm try inner has no command 'sow' | did you mean 'clm try inner show'? | → clm try inner --help",
    ],
    ["try polish", "clm try has no command 'polish' | did you mean 'clm try inner polish'? | → clm try --help"],
    ["melt", "clm has no command 'melt' | did you mean 'clm try inner core melt'? | → clm --help"],
    ["core", "clm has no command 'core' | did you mean 'clm try inner core'? | → clm --help"],
    ["try inner show", "clm try inner show needs WHAT | → clm try inner show --help"],
    [
      "try inner show a --lod",
      "clm try inner show has no option --lod | did you mean '--loud'? | → clm try inner show --help",
    ],
    [
      "try inner core melt x",
      "clm try inner core melt takes no words, only options | → clm try inner core melt --help",
    ],
  ])("not understood: %s", async (line, told) => {
    let fault: unknown;
    try {
      await parse(line.split(" "));
    } catch (error) {
      fault = error;
    }
    if (!isFault(fault, "usage")) throw fault ?? new Error("understood");
    expect([fault.message, ...fault.why, ...fault.next.map((next) => `→ ${next}`)].join(" | ")).toBe(told);
  });
});

describe("help", () => {
  const help = async (...words: string[]) => {
    const asked = await parse(words);
    return asked.kind === "print" ? asked.text : "";
  };

  it("of the noun around it names it", async () => {
    const text = await help("try", "--help");
    expect(text).toMatch(/^ {2}inner +things inside of things$/m);
    expect(text).toContain("clm try inner show core");
    expect(text).not.toContain("melt");
  });

  it("its own help, however it is requested", async () => {
    const text = await help("try", "inner", "--help");
    expect([await help("try", "inner"), await help("help", "try", "inner")]).toEqual([text, text]);
    expect(text).toContain("Usage: clm try inner COMMAND");
    expect(text).toContain("More about a command: clm help try inner COMMAND");
    for (const word of ["show", "polish", "core"]) expect(text).toMatch(new RegExp(`^ {2}${word} `, "m"));
  });

  it("of a command in it", async () => {
    expect(await help("help", "try", "inner", "show")).toContain("Usage: clm try inner show [options] WHAT [PART]");
  });
});

describe("completion", () => {
  const candidates = async (line: string) =>
    (await complete(line.split(" "), async (kind) => [{ word: `a-${kind}` }])).map(({ word }) => word);

  it.each([
    ["try in", ["inner"]],
    ["try inner ", ["show", "one", "polish", "core"]],
    ["help try inner s", ["show"]],
    ["try inner core ", ["melt"]],
    ["try inner show ", ["a-agent"]],
    ["try inner show x ", ["a-version"]],
    ["try inner show x --from ", ["a-provider"]],
    ["try inner show --lo", ["--loud"]],
    ["try inner zzz ", []],
  ])("%j", async (line, words) => expect(await candidates(line)).toEqual(words));
});

it("the reference page has every command, wherever it is", async () => {
  const nouns = await everyNoun();
  const page = reference(nouns);
  for (const { path } of nouns.flatMap(commandsOf)) expect(page).toContain(`### clm ${path}\n`);
  expect(page).toContain("[`clm try inner core melt`](#clm-try-inner-core-melt)");
});

describe("names", () => {
  const dir = mkdtempSync(join(tmpdir(), "clm-names-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("of agents come with their host, which is part of the name where it must be", async () => {
    const agent = sampleAgent("ada");
    const host = { address: "10.0.0.7", labels: {}, added_at: "2026", sudo: "root" as const };
    const hosts = [
      { name: hostNameFrom("lab-1"), ...host, agents: { ada: agent, bob: agent } },
      { name: hostNameFrom("lab-2"), ...host, agents: { bob: agent } },
    ];
    await hostStore(dir).update((state) => ({ ...state, hosts }));
    expect(await answerShell(["try", "inner", "show", ""], { CLM_HOME: dir })).toBe(
      "ada\tlab-1\nlab-1/bob\tlab-1\nlab-2/bob\tlab-2\n",
    );
  });

  it("of providers come with their type", async () => {
    const work = { type: "openrouter", fields: {}, added_at: "2026", updated_at: "2026" };
    await providerStore(dir).update(() => ({ providers: { work } }));
    expect(await answerShell(["try", "inner", "show", "--from", ""], { CLM_HOME: dir })).toBe("work\topenrouter\n");
  });
});
