import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { dotenvFile } from "../../../../src/agents/files/dotenv.js";
import type { ManagedFile } from "../../../../src/agents/plan/managed-file.js";
import { files } from "../../../../src/agents/program/files.js";
import { Fault } from "../../../../src/errors.js";
import { Secret } from "../../../../src/secret.js";
import { programAgent, programAnswers } from "./program-agent.js";

const folder = mkdtempSync(join(tmpdir(), "clm-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

const fileIn = (all: ManagedFile[], id: string): ManagedFile => {
  const found = all.find((file) => file.id === id);
  if (!found) throw new Error(`there is no file ${id}`);
  return found;
};

function variablesOf(environment: string, extra: Record<string, Secret> = {}): Record<string, string> {
  const { content } = fileIn(files(programAgent({ command: "x", environment }), programAnswers({ extra })), "env");
  if (content.merge !== "variables") throw new Error("it is no file of variables");
  return Object.fromEntries(
    [...content.entries].map(([name, value]) => [name, value instanceof Secret ? `secret ${value.reveal()}` : value]),
  );
}

describe("the environment", () => {
  it.each<[string, string, Record<string, string>]>([
    ["has the port alone when nothing is set", "", { PORT: "8700" }],
    ["has what was set, in that order", "B=2,A=1", { PORT: "8700", B: "2", A: "1" }],
    ["keeps equals signs in a value", "QUERY=a=b&c=d", { PORT: "8700", QUERY: "a=b&c=d" }],
    ["may have an empty value", "EMPTY=", { PORT: "8700", EMPTY: "" }],
    ["has one variable once when it is set twice alike", "A=1,A=1", { PORT: "8700", A: "1" }],
  ])("%s", (_about, environment, expected) => {
    expect(variablesOf(environment)).toEqual(expected);
  });

  it("has the secrets of the agent as secrets", () => {
    expect(variablesOf("A=1", { TOKEN: new Secret("hunter2") })).toEqual({
      PORT: "8700",
      A: "1",
      TOKEN: "secret hunter2",
    });
  });

  it.each([
    ["the port", "PORT=1", {}],
    ["a variable of the account", "HOME=/tmp", {}],
    ["two values for one variable", "A=1,A=2", {}],
    ["a variable that is a secret as well", "TOKEN=x", { TOKEN: new Secret("hunter2") }],
  ])("refuses %s", (_about, environment, extra) => {
    const set = () => variablesOf(environment, extra);
    expect(set).toThrow(Fault);
    expect(set).not.toThrow(/hunter2/);
  });
});

describe("the launcher", () => {
  const home = join(folder, "home");
  const code = join(home, "app");
  mkdirSync(code, { recursive: true });
  const text = (command: string): string => {
    const agent = programAgent({ command });
    const paths = { ...agent.paths, home, data: home, code, env: join(home, ".env") };
    const { mode, content } = fileIn(files({ ...agent, paths }, programAnswers()), "launcher");
    expect(mode).toBe(0o700);
    if (content.merge !== "whole") throw new Error("it is not all clm's");
    return String(content.text);
  };
  const run = (shell: string[], command: string) => {
    writeFileSync(
      join(home, ".env"),
      dotenvFile(
        new Map([
          ["PORT", "8700"],
          ["ODD", `it's "$HOME" \`id\` #1`],
        ]),
      ).reveal(),
    );
    writeFileSync(join(home, "run"), text(command));
    const [program = "", ...args] = [...shell, join(home, "run")];
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env: { PATH: process.env.PATH } });
    return { status, out: stdout.trim(), error: stderr.trim() };
  };

  describe.each([[["dash"]], [["bash", "--norc"]], [["busybox", "sh"]]])("%j", (shell) => {
    it.each<[string, string, string]>([
      ["runs the command where the files are", "pwd -P", code],
      ["has the variables of .env", 'echo "$PORT"', "8700"],
      ["hands on a value as it stands", 'printf %s "$ODD"', `it's "$HOME" \`id\` #1`],
      ["runs a command line with quotes of both kinds", `printf '%s|' "a b" 'c"d'`, 'a b|c"d|'],
      ["runs a pipe and a list", "echo one | tr a-z A-Z; echo two", "ONE\ntwo"],
      ["leaves a backslash and a percent sign alone", `printf '%s' 'a\\b%c'`, "a\\b%c"],
    ])("%s", (_about, command, out) => {
      expect(run(shell, command)).toEqual({ status: 0, out, error: "" });
    });

    it("ends as the command does", () => {
      expect(run(shell, "exit 3")).toMatchObject({ status: 3 });
      expect(run(shell, "true")).toMatchObject({ status: 0 });
    });

    it("runs nothing without its directory", () => {
      const agent = programAgent({ command: "echo ran" });
      const paths = { ...agent.paths, code: join(folder, "nowhere"), env: join(home, ".env") };
      const { content } = fileIn(files({ ...agent, paths }, programAnswers()), "launcher");
      if (content.merge !== "whole") throw new Error("it is not all clm's");
      const [program = "", ...args] = [...shell, "-c", String(content.text)];
      const { status, stdout } = spawnSync(program, args, { encoding: "utf8" });
      expect([status, stdout]).toEqual([78, ""]);
    });
  });

  it("has no secret in it", () => {
    const answers = programAnswers({ extra: { TOKEN: new Secret("hunter2") } });
    expect(JSON.stringify(fileIn(files(programAgent({ command: "x" }), answers), "launcher"))).not.toContain("hunter2");
  });
});

describe("files of the user's", () => {
  const app = "/home/bot/app";
  const content = Buffer.from([0, 255, 10]);

  it.each<[name: string, executable: boolean, expected: Partial<ManagedFile>]>([
    ["bot.py", false, { id: "file:bot.py", path: `${app}/bot.py`, mode: 0o600, directories: [app] }],
    ["run", true, { id: "file:run", path: `${app}/run`, mode: 0o700, directories: [app] }],
    [
      "lib/a b/c.py",
      false,
      {
        id: "file:lib/a b/c.py",
        path: `${app}/lib/a b/c.py`,
        mode: 0o600,
        directories: [app, `${app}/lib`, `${app}/lib/a b`],
      },
    ],
  ])("%s goes below the program's directory", (name, executable, expected) => {
    const uploads = [{ name, content, executable }];
    const last = files(programAgent({ command: "x" }), programAnswers({ uploads })).at(-1);
    expect(last).toEqual({ ...expected, restarts: true, content: { merge: "whole", text: content } });
  });

  it("are not needed: the environment and the launcher are always there", () => {
    expect(files(programAgent({ command: "x" }), programAnswers()).map(({ id }) => id)).toEqual(["env", "launcher"]);
  });
});
