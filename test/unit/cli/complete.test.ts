import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { catalog } from "../../../src/cli/catalog.js";
import { answerShell, complete, type Names } from "../../../src/cli/complete.js";
import { scripts } from "../../../src/cli/completion/completion.js";
import { hostNameFrom } from "../../../src/names.js";
import { hostStore } from "../../../src/state/hosts.js";

const known: Record<string, string[]> = {
  host: ["wolf-i", "wolf-ii", "lab-1"],
  "host-pattern": ["wolf-i", "wolf-ii", "lab-1"],
  lab: ["lab", "try"],
  "lab-host": ["lab-1"],
};
const names: Names = async (kind) => (known[kind] ?? []).map((word) => ({ word }));

/** What completes a line; the cursor is at its end. */
const candidates = async (line: string, from = names) =>
  (await complete(line.split(" "), from)).map(({ word }) => word);

describe("candidates", () => {
  it.each([
    ["", [...catalog.map(({ name }) => name), "help"]],
    ["ho", ["host"]],
    ["help ho", ["host"]],
    ["host ", ["add", "list", "show", "check", "update", "rename", "trust", "exec", "remove"]],
    ["host re", ["rename", "remove"]],
    ["--debug host re", ["rename", "remove"]],
    ["--config-dir /x host re", ["rename", "remove"]],
    ["host show ", ["wolf-i", "wolf-ii", "lab-1"]],
    ["host show wolf", ["wolf-i", "wolf-ii"]],
    ["host show wolf-i ", []],
    ["host add ", []],
    ["host rename wolf-i ", []],
    ["host check lab-1 wolf", ["wolf-i", "wolf-ii"]],
    ["host exec lab", ["lab-1"]],
    ["host exec lab-1 -", ["--all", "--label", "--sudo"]],
    ["host exec lab-1 -- ", []],
    ["host exec lab-1 -- ls --co", []],
    ["host add w --po", ["--port"]],
    ["host add w --accept-new --acc", []],
    ["host add w --label a=b --lab", ["--label"]],
    ["host list -o ", ["table", "json", "yaml", "name"]],
    ["host show w -o ", ["table", "json", "yaml"]],
    ["host list --output j", ["json"]],
    ["host list --output=j", ["--output=json"]],
    ["host list --output = j", ["json"]],
    ["host list --output =", ["table", "json", "yaml", "name"]],
    ["host remove w --ou", []],
    ["host show w --dr", []],
    ["host remove w --dr", ["--dry-run"]],
    ["host add w --identity ", [":file"]],
    ["host add w --identity ~/.s", [":file"]],
    ["host add w --identity=~/.s", [":file"]],
    ["host list --config-dir /e", [":directory"]],
    ["lab up --release t", ["trixie"]],
    ["lab down --name ", ["lab", "try"]],
    ["lab exec ", ["lab-1"]],
    ["completion ", ["bash", "zsh", "fish"]],
    ["agent runtime a", ["auto"]],
    ["agent runtime zzz auto ", []],
    ["agent runtime co", ["codex"]],
    ["audit --target wolf", ["wolf-i", "wolf-ii"]],
    ["zzz ", []],
    ["host zzz ", []],
  ])("%j", async (line, words) => {
    const found = await candidates(line);
    if (line.endsWith(" -")) expect(found).toEqual(expect.arrayContaining(words));
    else expect(found).toEqual(words);
  });

  it("offer -- once there is a host", async () => {
    expect(await candidates("host exec ")).toEqual(["wolf-i", "wolf-ii", "lab-1"]);
    expect(await candidates("host exec lab-1 ")).toEqual(["wolf-i", "wolf-ii", "--"]);
    expect(await candidates("host exec lab-1 wolf-i wo")).toEqual(["wolf-ii"]);
    expect(await candidates("lab exec lab-1 ")).toEqual(["--"]);
  });

  it.each(["--config-dir /fleet host show ", "host show --config-dir=/fleet ", "host --config-dir /fleet show "])(
    "come from the config directory named: %s",
    async (line) => {
      expect(await candidates(line, async (_, dir) => [{ word: `in-${dir}` }])).toEqual(["in-/fleet"]);
    },
  );
});

describe("the answer", () => {
  const home = mkdtempSync(join(tmpdir(), "clm-complete-"));
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it("is a line for each, with its description", async () => {
    expect(await answerShell(["host", "ren"], {})).toBe("rename\trename a host\n");
  });

  it("names the hosts in the order people count", async () => {
    const fleet = join(home, "fleet");
    const known = { address: "10.0.0.7", labels: {}, added_at: "2026", sudo: "root" as const, agents: {} };
    const hosts = ["lab-10", "lab-2", "lab-1"].map((name) => ({ name: hostNameFrom(name), ...known }));
    await hostStore(fleet).update((state) => ({ ...state, hosts }));
    const answer = await answerShell(["host", "show", ""], { CLM_HOME: fleet });
    expect(answer).toBe("lab-1\t10.0.0.7\nlab-2\t10.0.0.7\nlab-10\t10.0.0.7\n");
  });

  it("is nothing when state cannot be read", async () => {
    mkdirSync(join(home, "bad"));
    writeFileSync(join(home, "bad", "hosts.json"), "{ not json");
    expect(await answerShell(["host", "show", ""], { CLM_HOME: join(home, "bad") })).toBe("");
    expect(await answerShell(["host", "show", ""], { CLM_HOME: join(home, "missing") })).toBe("");
  });
});

describe("the scripts", () => {
  const bin = mkdtempSync(join(tmpdir(), "clm-shell-"));
  afterAll(() => rmSync(bin, { recursive: true, force: true }));
  beforeAll(() => {
    // Answers as clm would, and shows the arguments it got.
    const answers = `#!/bin/sh
shift 2
case "$*" in
  'host ') printf 'add\\tpin a key\\nlist\\tlist them\\n' ;;
  'host show wo') printf 'wolf-i\\t10.0.0.7\\nwolf-ii\\n' ;;
  *--identity*) echo :file ;;
  'fail') echo oops >&2; exit 3 ;;
  *) printf '%s\\n' "[$#]" "$@" ;;
esac
`;
    writeFileSync(join(bin, "clm"), answers);
    chmodSync(join(bin, "clm"), 0o755);
    for (const [shell, script] of Object.entries(scripts)) writeFileSync(join(bin, `completion.${shell}`), script);
  });

  const env = () => ({ ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` });
  const installed = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

  it.each([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ])("%s can read its own", (shell, check) => {
    if (!installed(shell)) return;
    const { status, stderr } = spawnSync(shell, [...check, join(bin, `completion.${shell}`)], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  });

  /** The completions of bash after these words. */
  function offered(words: string[]) {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const line = `source "${join(bin, "completion.bash")}"
COMP_WORDS=(clm ${quoted}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _clm; code=$?
printf '%s\\n' "\${COMPREPLY[@]}"; exit $code`;
    const { status, stdout, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8", env: env() });
    expect([status, stderr]).toEqual([0, ""]);
    return stdout.split("\n").filter(Boolean);
  }

  it.each([
    [
      ["host", ""],
      ["add", "list"],
    ],
    [
      ["host", "show", "wo"],
      ["wolf-i", "wolf-ii"],
    ],
    [["host", "add", "w", "--identity", ""], []],
    [["fail"], []],
    [
      ["a b", "*", ""],
      ["[3]", "a b", "*"],
    ],
  ])("bash completes %j", (words, found) => expect(offered(words)).toEqual(found));

  it("bash knows what to call", () => {
    const line = `source "${join(bin, "completion.bash")}"; complete -p clm`;
    expect(spawnSync("bash", ["-c", line], { encoding: "utf8" }).stdout).toBe("complete -F _clm clm\n");
  });
});

describe("names from the manifests", () => {
  const answer = async (...words: string[]) => {
    const lines = (await answerShell(words, { CLM_HOME: "/nonexistent/clm" })).split("\n").filter(Boolean);
    return lines.map((line) => line.split("\t")[0]);
  };

  it.each([
    [["provider", "add", "x", "--type", "openr"], ["openrouter"]],
    [["agent", "configure", "x", "--channel", "dis"], ["discord"]],
    [["agent", "configure", "x", "--mcp", ""], ["atlassian"]],
    [["agent", "configure", "x", "--set", "discord.allowed_u"], ["discord.allowed_users="]],
    [["agent", "configure", "x", "--secret", "discord."], ["discord.token="]],
    [["agent", "configure", "x", "--auxiliary", "vis"], ["vision="]],
    [
      ["agent", "memory", "edit", "x", ""],
      ["MEMORY.md", "USER.md", "SOUL.md"],
    ],
  ])("%j", async (words, found) => expect(await answer(...words)).toEqual(found));

  it("come with their title", async () => {
    const lines = await answerShell(["provider", "add", "x", "--type", ""], { CLM_HOME: "/nonexistent/clm" });
    expect(lines).toContain("anthropic\tAnthropic\n");
  });
});
