import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { announced, oneShotUnit, transientUnit, wordsOf } from "../../../../src/agents/plan/transient-unit.js";
import { sandboxDirectives } from "../../../../src/agents/plan/unit-file.js";
import { agentNameFrom } from "../../../../src/names.js";
import { sampleAgent } from "../../state/sample-agent.js";

const paths = {
  home: "/home/ada",
  data: "/home/ada/.hermes",
  code: "/home/ada/.hermes/code",
  env: "/home/ada/.hermes/.env",
  config: "",
  memories: "",
  launcher: "",
  path: ["/home/ada/.hermes/code/venv/bin", "/home/ada/.local/bin"],
};
const { manifest } = await loadType("/nonexistent", "hermes");
const agent = { name: agentNameFrom("ada"), ref: "ada", host: { name: "wolf-i" } as never, record: sampleAgent("ada") };
const resolved = { ...resolvedAgent(manifest, agent), paths };

/** The arguments of systemd-run. */
const given = (words: string[], env = true): string[] =>
  wordsIn(transientUnit({ resolved, unit: "u.service", sign: "/run/s", env, streams: "pipe", words }));

function wordsIn(line: string): string[] {
  const script = line.replace("exec systemd-run", "printf '%s\\0'");
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("a command in an agent", () => {
  it("has the agent's user, its home and its environment, and no secret", () => {
    expect(given(["true"])).toEqual(
      expect.arrayContaining([
        "--property=User=ada",
        "--property=WorkingDirectory=/home/ada",
        "--property=AssertPathExists=/run/s",
        "--setenv=HERMES_HOME=/home/ada/.hermes",
        expect.stringMatching("^--setenv=PATH=/home/ada/.hermes/code/venv/bin:/home/ada/.local/bin:/usr/local/sbin"),
      ]),
    );
  });

  it("reads .env inside the unit, with the agent's rights, before the command", () => {
    const all = given(["printf", "%s", "$x"]);
    const [shell, flag, script, ...words] = all.slice(all.indexOf("--") + 1);
    expect([shell, flag, words]).toEqual(["/bin/sh", "-c", ["sh", "/home/ada/.hermes/.env", "printf", "%s", "$$x"]]);
    expect(script).toMatch(/^clm_env=\$\$1\n[\s\S]*exec "\$\$@"\n$/);
    expect(all.slice(0, all.indexOf("--")).join(" ")).not.toContain(".env");
  });

  it("has the whole sandbox of the agent's service, which every systemd knows that clm installs on", () => {
    const sandbox = sandboxDirectives(resolved, 999);
    expect(sandbox).toContain("NoNewPrivileges=yes");
    expect(given(["true"])).toEqual(expect.arrayContaining(sandbox.map((each) => `--property=${each}`)));
  });

  it("that only answers a question is killed with all it started, at the latest after its time", () => {
    const words = wordsIn(oneShotUnit(resolved, { words: ["true"], seconds: 7 }));
    expect(words).toEqual(
      expect.arrayContaining([
        "--property=RuntimeMaxSec=7",
        "--property=KillSignal=SIGKILL",
        "--property=NoNewPrivileges=yes",
      ]),
    );
    expect(words.join(" ")).not.toContain(".env");
  });

  it("reads no .env that is not there", () => {
    expect(given(["true"], false).join(" ")).not.toContain(".env");
  });

  it("is passed on unchanged, with systemd's specifiers escaped", () => {
    const words = ["printf", "%h", "a b", "it's", "$HOME", "$$", "a$x$", "\\n", "", "-x", "ü"];
    const all = given(words, false);
    expect(all.slice(all.indexOf("--") + 1)).toEqual(words.map((word) => word.replaceAll("$", "$$$$")));
  });

  it("is read by a shell when it is one word", () => {
    expect(wordsOf(["ls | wc"])).toEqual(["/bin/sh", "-c", "ls | wc"]);
    expect(wordsOf(["ls", "| wc"])).toEqual(["ls", "| wc"]);
  });

  it.each([
    ["exit 3", 3],
    ["kill -PIPE $$", 141],
    ["kill -TERM $$", 143],
    ["true", 0],
  ])("'%s' ends with %d, after it was proven to begin", (script, code) => {
    const [program = "", ...args] = announced("proof-1", ["/bin/sh", "-c", script]);
    const shell = ["-c", '"$@" 2>&1; echo " $?"', "sh", program, ...args];
    expect(execFileSync("/bin/sh", shell, { encoding: "utf8" })).toMatch(new RegExp(`^proof-1\n[^]* ${code}\n$`));
  });

  it("ends with the code of a signal that all of the unit gets", async () => {
    const [program = "", ...args] = announced("proof-1", ["/bin/sh", "-c", "echo on; exec sleep 60"]);
    const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "data");
    process.kill(-(child.pid ?? Number.NaN), "SIGTERM");
    expect(await once(child, "exit")).toEqual([143, null]);
  });
});
