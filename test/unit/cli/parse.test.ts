import { describe, expect, it } from "vitest";
import { globalsOf } from "../../../src/cli/globals.js";
import { commandsOf, everyNoun } from "../../../src/cli/nouns.js";
import { type Parsed, parse } from "../../../src/cli/parse.js";
import { longOption } from "../../../src/cli/spelling.js";
import { isFault } from "../../../src/errors.js";

async function run(line: string | string[]) {
  const asked = await parse(typeof line === "string" ? line.split(" ") : line);
  if (asked.kind !== "run") throw new Error(`'${line}' printed something`);
  return { path: asked.command.path, ...asked.input, globals: asked.globals };
}

async function refusal(line: string): Promise<string> {
  try {
    const asked: Parsed = await parse(line === "" ? [] : line.split(" "));
    throw new Error(`understood: ${JSON.stringify(asked)}`);
  } catch (error) {
    if (!isFault(error, "usage")) throw error;
    return [error.message, ...error.why, ...error.next.map((next) => `→ ${next}`)].join(" | ");
  }
}

describe("accepted input", () => {
  it("words and options of every kind", async () => {
    expect(await run("host add wolf-i --address 10.0.0.7 --port 2222 --label a=1 -l b=2 --accept-new")).toMatchObject({
      path: "host add",
      args: { name: "wolf-i" },
      options: { address: "10.0.0.7", port: 2222, label: ["a=1", "b=2"], acceptNew: true, user: undefined },
    });
  });

  it("missing input", async () => {
    expect((await run("host list")).options).toEqual({ label: [] });
    expect((await run("lab up")).options).toEqual({ hosts: 1, release: "bookworm", name: "lab", internet: false });
    expect((await run("host check")).args).toEqual({ names: [] });
  });

  it("options glued to their values", async () => {
    expect((await run("host add w --port=22 --address=a=b")).options).toMatchObject({ port: 22, address: "a=b" });
    expect((await run("host list -ojson")).globals.format).toBe("json");
  });

  it.each([
    "--config-dir /x --debug -q -y --dry-run --no-color -o json host add w",
    "host --config-dir /x --debug -q -y --dry-run --no-color -o json add w",
    "host add w --config-dir /x --debug -q -y --dry-run --no-color -o json",
    "--debug -y --config-dir /x host --debug add w -o json --debug -qy --dry-run --no-color",
  ])("global options wherever they stand: %s", async (line) => {
    expect(await run(line)).toMatchObject({
      path: "host add",
      args: { name: "w" },
      globals: { configDir: "/x", format: "json", yes: true, dryRun: true, quiet: true, debug: true, noColor: true },
    });
  });

  it("the first format when none is asked for", async () => {
    expect((await run("host list")).globals).toMatchObject({ format: "table", noColor: false, configDir: undefined });
    expect((await run("agent status ada --sudo-password-file /pw")).globals.sudoPasswordFile).toBe("/pw");
  });

  it.each([
    ["host exec web-* -- ls -l --color", ["web-*"], ["ls", "-l", "--color"]],
    ["host exec a b --sudo -- -x", ["a", "b"], ["-x"]],
    ["host exec --all -- sh -c -- x", [], ["sh", "-c", "--", "x"]],
    ["host exec --all -- --help", [], ["--help"]],
    ["host exec a -- -o json", ["a"], ["-o", "json"]],
  ])("everything after -- untouched: %s", async (line, patterns, command) => {
    expect((await run(line)).args).toEqual({ patterns, command });
  });

  it("a command of one word with spaces", async () => {
    expect((await run(["host", "exec", "--all", "--", "df -h | tail -1"])).args.command).toEqual(["df -h | tail -1"]);
  });

  it.each(["agent start ada --continue", "agent exec ada --continue -- ls", "chat ada --new"])(
    "flags of older versions that name the default: %s",
    async (line) => expect((await run(line)).path).toBe(line.split(" ada")[0]),
  );

  it("words that look like options, after --", async () => {
    expect((await run("host show -- -x")).args).toEqual({ name: "-x" });
  });
});

describe("refused input", () => {
  it.each([
    ["hots list", "clm has no command 'hots' | did you mean 'clm host'? | → clm --help"],
    ["zzz", "clm has no command 'zzz' | → clm --help"],
    ["rename", "clm has no command 'rename' | did you mean 'clm host rename'? | → clm --help"],
    ["zzz --help", "clm has no command 'zzz' | → clm --help"],
    ["help zzz", "clm has no command 'zzz' | → clm --help"],
    ["host lsit", "clm host has no command 'lsit' | did you mean 'clm host list'? | → clm host --help"],
    ["help host ad", "clm host has no command 'ad' | did you mean 'clm host add'? | → clm host --help"],
    ["--bogus host list", "clm has no option --bogus | → clm --help"],
    [
      "host add w --adress x",
      "clm host add has no option --adress | did you mean '--address'? | → clm host add --help",
    ],
    ["host show w --dry-run", "clm host show has no option --dry-run | → clm host show --help"],
    ["--dry-run host show w", "clm host show has no option --dry-run | → clm host show --help"],
    ["-o json host remove w", "clm host remove has no option --output | → clm host remove --help"],
    ["host show w -o name", "--output is one of table, json, yaml, not 'name' | → clm host show --help"],
    ["-o name host show w", "--output is one of table, json, yaml, not 'name' | → clm host show --help"],
    [
      "host list -o jsn",
      "--output is one of table, json, yaml, name, not 'jsn' | did you mean 'json'? | → clm host list --help",
    ],
    ["host exec --sudo=yes --all -- ls", "--sudo takes no value | → clm host exec --help"],
    ["host add", "clm host add needs NAME | → clm host add --help"],
    ["host rename a", "clm host rename needs NEW-NAME | → clm host rename --help"],
    ["host show a b", "clm host show takes NAME and no more words | → clm host show --help"],
    ["host show a -kb", "clm host show has no option -k… | → clm host show --help"],
    ["audit now", "clm audit takes no words, only options | → clm audit --help"],
    ["host add w --port", "--port needs a value: --port PORT | → clm host add --help"],
    ["host add w --address --user x", "--address needs a value: --address ADDRESS | → clm host add --help"],
    ["host add w --address=", "--address needs a value: --address ADDRESS | → clm host add --help"],
    ["host add w --port 22x", "--port is a whole number from 1 to 65535, not '22x' | → clm host add --help"],
    ["host add w --port 0", "--port is a whole number from 1 to 65535, not '0' | → clm host add --help"],
    ["host add w --port 65536", "--port is a whole number from 1 to 65535, not '65536' | → clm host add --help"],
    ["audit --last -1", "--last is a whole number of 1 or more, not '-1' | → clm audit --help"],
    ["audit --last 1.5", "--last is a whole number of 1 or more, not '1.5' | → clm audit --help"],
    [
      "lab up --release trixi",
      "--release is one of bookworm, trixie, not 'trixi' | did you mean 'trixie'? | → clm lab up --help",
    ],
    ["completion bsh", "SHELL is one of bash, zsh, fish, not 'bsh' | did you mean 'bash'? | → clm completion --help"],
    ["completion", "clm completion needs SHELL: bash, zsh, fish | → clm completion --help"],
    ["host exec web", "clm host exec needs -- COMMAND... | → clm host exec --help"],
    ["host exec web --", "clm host exec needs -- COMMAND... | → clm host exec --help"],
    [
      "host exec web-* uname",
      "'--' is missing before the command | did you mean 'clm host exec 'web-*' -- uname'? | → clm host exec --help",
    ],
    [
      "host exec web uname -a",
      "'--' is missing before the command | did you mean 'clm host exec web -- uname -a'? | → clm host exec --help",
    ],
    [
      "lab exec lab-1 uname -a",
      "'--' is missing before the command | did you mean 'clm lab exec lab-1 -- uname -a'? | → clm lab exec --help",
    ],
    [
      "agent exec ada ls -l",
      "'--' is missing before the command | did you mean 'clm agent exec ada -- ls -l'? | → clm agent exec --help",
    ],
    ["agent start ada --contine", "clm agent start has no option --contine | → clm agent start --help"],
    ["lab exec -- ls", "clm lab exec needs HOST | → clm lab exec --help"],
    ["host exec --bogus -- ls", "clm host exec has no option --bogus | → clm host exec --help"],
    [
      "agent install --host a --name n --host b",
      "--host is given twice and takes one value | → clm agent install --help",
    ],
    ["host add w --port 22 --port 22", "--port is given twice and takes one value | → clm host add --help"],
    ["host list -o json --output yaml", "--output is given twice and takes one value | → clm host list --help"],
    ["-o json host list -o yaml", "--output is given twice and takes one value | → clm host list --help"],
    ["--config-dir /a --config-dir /b ps", "--config-dir is given twice and takes one value | → clm ps --help"],
    [
      "--config-dir /a host --config-dir /b list",
      "--config-dir is given twice and takes one value | → clm host list --help",
    ],
  ])("%s", async (line, told) => expect(await refusal(line)).toBe(told));
});

describe("an option given twice", async () => {
  const commands = (await everyNoun()).flatMap(commandsOf);
  const given = commands.flatMap((command) =>
    Object.entries({ ...command.options, ...globalsOf(command) }).map(([key, spec]) => ({ command, key, spec })),
  );
  const words = ({ command, key, spec }: (typeof given)[number]): string[] => {
    const value = spec.choices?.[0] ?? (spec.kind === "number" ? String(spec.min ?? 1) : "x");
    const option = spec.kind === "flag" ? [longOption(key)] : [longOption(key), value];
    return [...command.path.split(" "), ...option, ...option];
  };
  /** The errors of a command line that concern options; arguments are left out. */
  const complaint = async (line: string[]): Promise<string | undefined> => {
    try {
      await parse(line);
    } catch (error) {
      if (!isFault(error, "usage")) throw error;
      return error.message;
    }
  };

  it.each(given.filter(({ spec }) => !["flag", "list"].includes(spec.kind)).map((each) => words(each).join(" ")))(
    "is refused where it takes one value: %s",
    async (line) => {
      const option = line.split(" ").at(-2);
      expect(await complaint(line.split(" "))).toBe(`${option} is given twice and takes one value`);
    },
  );

  it("is understood where it is a list or takes no value", async () => {
    const lines = given.filter(({ spec }) => ["flag", "list"].includes(spec.kind)).map(words);
    const complaints = await Promise.all(lines.map(complaint));
    expect(complaints.filter((each) => each?.includes("given twice"))).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
  });
});
