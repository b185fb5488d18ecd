import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { reference } from "../../../scripts/reference.js";
import { catalog } from "../../../src/cli/catalog.js";
import { globalsAnywhere } from "../../../src/cli/globals.js";
import { everyNoun, lastWord, nounsOf, verbless } from "../../../src/cli/nouns.js";
import { parse } from "../../../src/cli/parse.js";
import { handlerOf } from "../../../src/cli/run.js";
import { exampleParts, longOption } from "../../../src/cli/spelling.js";
import { faults } from "../../../src/errors.js";

const every = await everyNoun();
const nouns = every.flatMap(nounsOf);
const commands = nouns.flatMap((noun) => noun.commands.map((command) => ({ noun, command })));

async function help(...words: string[]): Promise<string> {
  const asked = await parse(words);
  if (asked.kind !== "print") throw new Error(`'${words.join(" ")}' is no question for help`);
  return asked.text;
}

describe("help", () => {
  it("of clm is the same, however it is requested", async () => {
    const text = await help("--help");
    expect([await help(), await help("-h"), await help("help")]).toEqual([text, text, text]);
    for (const { name, summary } of catalog)
      expect(text).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 30)}`, "m"));
    expect(text).toContain("Examples:");
    expect(text.indexOf("Commands:")).toBeLessThan(text.indexOf("Global options:"));
  });

  it.each(nouns.filter((noun) => !verbless(noun)).map((noun) => [noun.name, noun] as const))(
    "of clm %s names its verbs",
    async (name, noun) => {
      const words = name.split(" ");
      const text = await help(...words, "--help");
      expect([await help(...words), await help("help", ...words)]).toEqual([text, text]);
      for (const { summary } of [...noun.commands, ...(noun.nouns ?? [])]) expect(text).toContain(summary.slice(0, 30));
      expect(text).toContain(`Usage: clm ${name} COMMAND`);
      expect(text).toContain("Examples:");
    },
  );

  it.each(commands.map(({ command }) => [command.path, command] as const))(
    "of clm %s is complete",
    async (path, command) => {
      const text = await help(...path.split(" "), "--help");
      expect(await help("help", ...path.split(" "))).toBe(text);
      expect(text).toContain(`Usage: clm ${path} [options]`);
      expect(text).toContain("Examples:");
      for (const { run } of command.examples.map(exampleParts)) expect(text).toContain(`  ${run}`);
      for (const [key, { hidden }] of Object.entries(command.options ?? {})) {
        expect(text.includes(longOption(key))).toBe(!hidden);
      }
      for (const option of ["--config-dir", "--yes", "--quiet", "--debug", "--no-color", "--help", "--version"]) {
        expect(text).toContain(option);
      }
      expect(text.includes("--dry-run")).toBe(command.mutates === true);
      expect(text.includes("--output")).toBe(command.formats !== undefined);
      expect(text).not.toContain("undefined");
    },
  );

  it("fits the terminal", async () => {
    const asked = await parse(["host", "add", "--help"], 72);
    const before = asked.kind === "print" ? asked.text.split("Examples:")[0] : "";
    for (const line of before?.split("\n") ?? []) expect(line.length).toBeLessThanOrEqual(72);
  });

  it("is shown with any arguments around --help", async () => {
    expect(await help("host", "add", "wolf-i", "--bogus", "--help")).toContain("Usage: clm host add");
    expect(await help("host", "add", "--version")).toMatch(/^clm \d+\.\d+\.\d+\n$/);
  });
});

describe("declarations", () => {
  it("of commands without a verb have the summary of the catalog", () => {
    for (const noun of nouns) expect(verbless(noun)?.summary ?? noun.summary).toBe(noun.summary);
  });

  it("of nouns within nouns begin with the noun around them", () => {
    for (const noun of nouns) {
      for (const { name } of noun.nouns ?? []) expect(name).toBe(`${noun.name} ${lastWord(name)}`);
    }
  });

  it.each(commands.map(({ noun, command }) => [command.path, noun, command] as const))(
    "of clm %s",
    async (path, noun, command) => {
      expect(path === noun.name || path === `${noun.name} ${lastWord(path)}`).toBe(true);
      expect(command.summary).toMatch(/^[a-z].*[^.]$/);
      expect(command.summary.length).toBeLessThan(70);
      expect(command.examples.length).toBeGreaterThan(0);
      for (const key of Object.keys(command.options ?? {})) expect(globalsAnywhere).not.toHaveProperty(key);
      const shorts = Object.values({ ...command.options, ...globalsAnywhere }).flatMap(({ short }) => short ?? []);
      expect(new Set(shorts).size).toBe(shorts.length);
      expect(await handlerOf(command)).toEqual(expect.any(Function));
    },
  );

  const examples = commands.flatMap(({ command }) =>
    command.examples.map((each) => [exampleParts(each).run, command.path] as const),
  );
  it.each(examples)("the example parses: %s", async (run, path) => {
    const lines = clmLines(run);
    expect(lines.length).toBeGreaterThan(0);
    const asked = await Promise.all(lines.map((words) => parse(words)));
    const parsed = asked.map((asked) => (asked.kind === "run" ? asked.command.path : ""));
    expect(parsed[0]).toBe(path);
    expect(parsed).not.toContain("");
  });
});

describe("commands named in hints", () => {
  const sources = readdirSync("src", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
  const hints = sources.flatMap((file) => hintsIn(readFileSync(file, "utf8")).map((hint) => [hint, file] as const));

  it("are found", () => expect(hints.length).toBeGreaterThan(20));

  it.each(hints)("%s (%s)", (hint) => {
    const said = hint.replace(/^clm (help )?/, "");
    if (/^(\$\{|--help|COMMAND)/.test(said)) return;
    const [about = ""] = said.split(/ (?:--help|COMMAND)\b/);
    const isNoun = about !== said && nouns.some(({ name }) => name === about);
    const command = commands.map(({ command }) => command).find(({ path }) => `${said} `.startsWith(`${path} `));
    if (!isNoun) expect(command?.path ?? "no command").toContain(said.split(" ")[0]);
    const options = Object.keys({ ...command?.options, ...globalsAnywhere }).map(longOption);
    const [ours = ""] = hint.split(" -- ");
    for (const [option] of ours.matchAll(/--[a-z-]+/g)) expect([...options, "--help"]).toContain(option);
  });
});

/** Commands in `next:`, and in sentences that end with `: clm …`. */
function hintsIn(source: string): string[] {
  const nexts = [...source.matchAll(/\bnext(?:\.push\(|:)([\s\S]{0,400}?)(?=\b(?:why|data|cause):|\}\)|\);)/g)];
  const quoted = nexts.flatMap(([, text = ""]) =>
    [...text.matchAll(/(["'`])(clm .*?)\1/g)].map(([, , hint = ""]) => hint),
  );
  const said = [...source.matchAll(/["'`][^"'`\n]*: (clm [^"'`\n]+)["'`]/g)].map(([, hint = ""]) => hint);
  return [...quoted, ...said];
}

describe("the reference page", () => {
  const page = reference(every);
  it("has every command, option, example, exit code and fault", () => {
    for (const { command } of commands) {
      expect(page).toContain(`### clm ${command.path}\n`);
      for (const [key, { hidden }] of Object.entries(command.options ?? {})) {
        if (!hidden) expect(page).toContain(longOption(key));
      }
      for (const { run } of command.examples.map(exampleParts)) expect(page).toContain(run);
    }
    for (const { code, exit, meaning } of Object.values(faults)) {
      expect(page).toContain(`| ${code} |`);
      expect(page).toMatch(new RegExp(`^\\| ${exit} \\| .*${meaning}`, "m"));
    }
  });

  it("is well-formed", () => {
    expect(page.match(/^```/gm)?.length).toBe(2 * commands.length * 2);
    const anchors = [...page.matchAll(/^### (.*)$/gm)].map(([, title = ""]) => title.replaceAll(" ", "-"));
    for (const [, target] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(target);
    expect(page).not.toMatch(/undefined|\[object/);
  });
});

/** The command lines of clm in a line for a shell: quotes are read, `|`, `&&`, `>` and `<(…)` end a command. */
function clmLines(line: string): string[][] {
  const tokens = [...line.matchAll(/'([^']*)'|(&&|[|>();<]+)|([^\s'|>();<&]+)/g)];
  const parts: string[][] = [[]];
  for (const [, quoted, operator, word] of tokens) {
    if (operator) parts.push([]);
    else parts.at(-1)?.push(quoted ?? word ?? "");
  }
  return parts.filter(([first]) => first === "clm").map((words) => words.slice(1));
}
