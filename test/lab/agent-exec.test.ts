import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSecrets } from "../../src/state/secrets.js";
import { clm, inHost, program, whenRunning } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";

// A configured agent, an unconfigured one, and one on a newer systemd.
const host = "trial-1";
const newer = "trial13-1";
const data = "/home/ada/.hermes";

let scratch: string;

const lab = labFixture({
  agents: [
    { host, name: "ada", configure: withEcho },
    { host, name: "bob" },
    { host: newer, name: "eve" },
  ],
});
const { home } = lab;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "clm-inside-"));
});

afterAll(async () => {
  await rm(scratch, { recursive: true });
});

const agent = (...words: string[]) => clm(["agent", ...words], { home });
const exec = (name: string, ...command: string[]) => agent("exec", name, "--", ...command);
const keyOf = (name: string) =>
  openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal() ?? "";

/** What a command could leave on a host: a unit, a process, the file of the dead man's switch. */
const left = (where: string) =>
  inHost(
    where,
    `for n in $(seq 80); do
       left=$(systemctl list-units --all --no-legend 'clm-exec-*'; pgrep -f '[s]leep 98[0-9][0-9]'; ls -d /run/clm/exec-* 2>/dev/null)
       [ -n "$left" ] || exit 0
       sleep 0.1
     done
     echo "$left"`,
  );

describe.each([
  ["ada", host],
  ["eve", newer],
])("a command in %s on %s", (name, where) => {
  it("runs as the agent's user in its home, and its exit code is passed on", async () => {
    const result = await exec(name, "id -un; pwd; echo $HERMES_HOME; echo oops >&2; exit 7");
    expect(result).toMatchObject({
      code: 7,
      stdout: `${name}\n/home/${name}\n/home/${name}/.hermes\n`,
      stderr: "oops\n",
    });
  });

  it("has the PATH of the service, and can open its own streams", async () => {
    const { stdout, stderr } = await exec(name, "command -v hermes; echo out >/dev/stdout; echo err >/dev/stderr");
    expect([stdout, stderr]).toEqual([`/home/${name}/.hermes/code/venv/bin/hermes\nout\n`, "err\n"]);
  });

  it("gets its arguments unchanged", async () => {
    const words = ["$HOME", "$$", "%h", "a b", "it's", "\\n", "", "ü", "a\nb"];
    expect((await exec(name, "printf", "%s|", ...words)).stdout).toBe(`${words.join("|")}|`);
  });

  it("ends with the code of a signal, and with 127 when the program is missing", async () => {
    expect(await exec(name, "sh", "-c", "kill -TERM $$")).toMatchObject({ code: 143 });
    expect(await exec(name, "/nonexistent/program")).toMatchObject({ code: 127 });
  });

  it("reads piped input and returns every byte", async () => {
    const bytes = randomBytes(2_000_000);
    expect((await piped(["agent", "exec", name, "--", "cat"], bytes)).equals(bytes)).toBe(true);
  });

  it("ends with its children when clm is killed, even while it reads nothing", async () => {
    const running = clm(["agent", "exec", name, "--", "sleep 9801 & sleep 9802"], {
      home,
      input: "x".repeat(1_000_000),
      during: (child) => void whenRunning(where, "sleep 9802", () => child.kill("SIGKILL")),
    });
    expect(await running).toMatchObject({ signal: "SIGKILL" });
    expect(await left(where)).toBe("");
  });

  it("ends on Ctrl-C, even if it ignores the signal", async () => {
    const result = await clm(
      ["agent", "exec", name, "--", `${name === "ada" ? "trap '' TERM INT;" : ""} sleep 9803; sleep 9804`],
      {
        home,
        during: (child) => void whenRunning(where, "sleep 9803", () => child.kill("SIGINT")),
      },
    );
    expect(result.code).toBe(130);
    expect(await left(where)).toBe("");
  });
});

describe("a command", () => {
  it("has the agent's secrets, which are redacted in its output", async () => {
    const { stdout } = await exec(
      "ada",
      `[ "$API_SERVER_KEY" = "$(sed -n 's/^API_SERVER_KEY=//p' .hermes/.env)" ] && env`,
    );
    expect(stdout).toContain("API_SERVER_KEY=[secret]");
    expect(stdout).not.toContain(keyOf("ada"));
  });

  it("runs without .env", async () => {
    await withEnv("true", async () => {
      expect(await exec("bob", "echo [$API_SERVER_KEY]")).toMatchObject({ code: 0, stdout: "[]\n" });
    });
  });

  it("is logged without its arguments and input", async () => {
    await exec("ada", "echo", "a-private-word");
    const log = await readFile(join(home, "audit.jsonl"), "utf8");
    expect(log).toContain('"argv":["agent","exec","ada","--","echo"]');
    expect(log).not.toContain("private-word");
    expect(await inHost(host, "journalctl -o cat --no-pager | grep -c 'a-private-[w]ord' || true")).toBe("0\n");
  });

  it("ends when its reader is gone", async () => {
    const result = await clm(["agent", "exec", "ada", "--", "yes; sleep 9805"], {
      home,
      during: (child) => void child.stdout?.once("data", () => child.stdout?.destroy()),
    });
    expect(result.code).toBe(141);
    expect(await left(host)).toBe("");
  });

  it("does not run in a dry run", async () => {
    const result = await agent("exec", "ada", "--dry-run", "--", "touch", "/home/ada/made");
    expect(result).toMatchObject({ code: 0, stderr: "would run touch in trial-1/ada\n" });
    expect(await inHost(host, "ls /home/ada")).not.toContain("made");
  });

  it("does not run in an account that clm did not make", async () => {
    const comment = (await inHost(host, "getent passwd bob | cut -d: -f5")).trim();
    await inHost(host, "usermod -c somebody bob");
    try {
      expect(await exec("bob", "id")).toMatchObject({
        code: 4,
        stdout: "",
        stderr: expect.stringContaining("not the one clm made"),
      });
    } finally {
      await inHost(host, `usermod -c '${comment}' bob`);
    }
  });

  it("cannot read root's files through a link", async () => {
    await withEnv("echo TOP=secret-of-root >/root/env; ln -s /root/env .env", async () => {
      const { code, stdout, stderr } = await exec("bob", "env");
      expect([code, stdout]).toEqual([16, ""]);
      expect(stderr).toContain("it is a symbolic link");
    });
  });
});

/** Replaces bob's .env while `work` runs. */
async function withEnv(script: string, work: () => Promise<void>): Promise<void> {
  await inHost(host, `cd /home/bob/.hermes; [ ! -e .env ] || mv .env .env.away; ${script}`);
  await work().finally(() =>
    inHost(host, "cd /home/bob/.hermes; rm -f .env /root/env; [ ! -e .env.away ] || mv .env.away .env"),
  );
}

describe("a command in several agents", () => {
  it("prints one block per agent, ends with the worst code, and names the command to repeat", async () => {
    const command = "echo $USER; echo no >&2; [ $USER != bob ] || exit 5";
    const { code, stdout, stderr } = await agent("exec", "--host", host, "--", command);
    expect(code).toBe(5);
    expect(stdout).toContain("trial-1/ada:\nada\n");
    expect(stdout).toContain("trial-1/bob:\nbob\n");
    expect(stderr).toContain("trial-1/ada: no\n");
    expect(stderr).toContain("1 of 2 done, 1 failed\n");
    expect(stderr).toContain(`again: clm agent exec trial-1/bob -- '${command.replace("!", "'\\!'")}'`);
  });

  it("prints JSON as a list, or as one object for one agent", async () => {
    const all = JSON.parse((await agent("exec", "*", "-o", "json", "--", "echo $USER; exit 3")).stdout);
    const rows = all.map(({ name, result, code, stdout }: Record<string, unknown>) => [name, result, code, stdout]);
    // In the order of the fleet file, which is the order of the last changes.
    expect(rows.sort()).toEqual([
      ["ada", "failed", 3, "ada\n"],
      ["bob", "failed", 3, "bob\n"],
      ["eve", "failed", 3, "eve\n"],
    ]);
    const one = await agent("exec", "ada", "-o", "json", "--", "cat; echo e >&2");
    expect(JSON.parse(one.stdout)).toMatchObject({ name: "ada", code: 0, stdout: "", stderr: "e\n" });
    expect(await left(host)).toBe("");
  });
});

describe("a shell", () => {
  it.each([
    ["ada", host],
    ["eve", newer],
  ])("in %s on %s has the window size and the environment", async (name, where) => {
    const tty = join(scratch, `tty-${name}`);
    const { code, screen } = await inShell(name, `tty >${tty}; stty rows 33 cols 111;`, [
      [/\$ $/, 'echo "[$(id -un) $(pwd) $TERM $(stty size) $SHELL]"\r'],
      [/\]\s[\s\S]*\$ $/, "until [ \"$(stty size)\" = '40 120' ]; do :; done; echo re''sized\r", () => resize(tty)],
      [/resized\s/, "sleep 9806\r", (type) => whenRunning(where, "sleep 9806", () => type("\u0003"))],
      [/\^C[\s\S]*\$ $/, "exit 9\r"],
    ]);
    expect(screen).toContain(`[${name} /home/${name} screen-256color 33 111 /usr/bin/bash]`);
    expect(code).toBe(9);
    expect(await left(where)).toBe("");
  });

  it("restores the terminal and leaves nothing on the host when clm is stopped", async () => {
    const [before, after, parent] = ["before", "after", "parent"].map((name) => join(scratch, name)) as [
      string,
      string,
      string,
    ];
    const stop = async () => {
      const shell = (await readFile(parent, "utf8")).trim();
      process.kill(Number(execFileSync("pgrep", ["-P", shell], { encoding: "utf8" })), "SIGTERM");
    };
    const line: Line = [/\$ $/, "sleep 9807\r", () => whenRunning(host, "sleep 9807", stop)];
    await inShell("ada", `echo $$ >${parent}; stty -g >${before};`, [line], `; stty -g >${after}`);
    expect(await readFile(after, "utf8")).toBe(await readFile(before, "utf8"));
    expect(await left(host)).toBe("");
  });

  it("needs a terminal", async () => {
    const { code, stderr } = await agent("shell", "ada");
    expect([code, stderr]).toEqual([2, expect.stringContaining("next: clm agent exec ada -- COMMAND")]);
  });
});

describe("sessions", () => {
  const sessions = async (...words: string[]) => {
    const { code, stdout, stderr } = await agent("sessions", ...words);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout;
  };
  // Readers share notes in -shm while the database is open; they are not content.
  const files = () => inHost(host, `cd ${data} && ls -A && stat -c '%n %Y %s' $(ls state.db* | grep -v -- -shm)`);

  beforeAll(async () => {
    await tell("first", `the invoice of ${keyOf("ada")} is late`);
    await tell("second", "a fox \u001b]0;owned\u0007 🦊");
  });

  it("are listed, most recently used first", async () => {
    const listed = JSON.parse(await sessions("list", "ada", "-o", "json"));
    expect(listed.slice(0, 2)).toMatchObject([
      { id: "second", source: "api_server", message_count: 2, model: "echo-1" },
      { id: "first" },
    ]);
    expect(await sessions("list", "ada", "-o", "name", "--limit", "1")).toBe("second\n");
    expect(JSON.parse(await sessions("list", "ada", "-o", "json", "--source", "telegram"))).toEqual([]);
  });

  it("are shown without secrets and control sequences", async () => {
    const first = await sessions("show", "ada", "fir");
    expect(first).toContain("the invoice of [secret] is late");
    const second = await sessions("show", "ada", "second", "--full");
    expect(second).toMatch(/user \(.*\)\n {2}a fox {2}🦊\n/u);
    for (const shown of [first, second]) expect(stripVTControlCharacters(shown)).toBe(shown);
    expect((await agent("sessions", "show", "ada", "nope")).code).toBe(4);
  });

  it("are searched", async () => {
    const hits = JSON.parse(await sessions("search", "ada", 'invoice"', "-o", "json"));
    expect(hits).toMatchObject([
      { session: "first", role: "assistant" },
      { session: "first", role: "user" },
    ]);
    expect(JSON.stringify(hits)).not.toContain(keyOf("ada"));
  });

  it("are exported with mode 0600, and never over an existing file", async () => {
    const to = join(scratch, "sessions.jsonl");
    const write = (...more: string[]) => agent("sessions", "export", "ada", "first", "second", "--to", to, ...more);
    expect(await write()).toMatchObject({ code: 0, stderr: `2 sessions of ada written to ${to}\n` });
    expect((await stat(to)).mode & 0o777).toBe(0o600);
    const text = await readFile(to, "utf8");
    const [first, second] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ id: "first", messages: [{ role: "user" }, { role: "assistant" }] });
    expect(second.messages[0].content).toBe("a fox \u001b]0;owned\u0007 🦊");
    expect(text).not.toContain(keyOf("ada"));
    expect(await write()).toMatchObject({ code: 5 });
    expect(await write("--force", "--format", "md")).toMatchObject({ code: 0 });
    expect(await readFile(to, "utf8")).toMatch(/^# first\n[\s\S]*\n# second\n/);
    const unknown = await agent("sessions", "export", "ada", "first", "nope", "--to", join(scratch, "none"));
    expect([unknown.code, await stat(join(scratch, "none")).catch(() => "none")]).toEqual([4, "none"]);
  });

  it("are read while the agent runs and while it is stopped, without writing", async () => {
    const running = await files();
    await sessions("list", "ada");
    expect(await files()).toBe(running);
    await lab.must("agent", "stop", "ada");
    const stopped = await files();
    expect(await sessions("list", "ada", "-o", "name")).toContain("second\nfirst\n");
    await sessions("search", "ada", "fox");
    expect(await files()).toBe(stopped);
  });

  it("are an empty list before the first one", async () => {
    expect(await agent("sessions", "list", "bob")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "bob has no sessions yet\n",
    });
    expect(await sessions("list", "bob", "-o", "json")).toBe("[]\n");
  });

  it("are read with the rights of the agent only", async () => {
    await inHost(host, "ln -s /etc/shadow /home/bob/.hermes/state.db");
    try {
      const { code, stdout, stderr } = await agent("sessions", "list", "bob");
      expect([code, stdout]).toEqual([16, ""]);
      expect(stderr).toContain("unable to open database file");
    } finally {
      await inHost(host, "rm /home/bob/.hermes/state.db");
    }
  });
});

const tell = (session: string, text: string) =>
  inHost(
    host,
    `key=$(sed -n 's/^API_SERVER_KEY=//p' ${data}/.env | tr -d "\\"'")
     printf 'Authorization: Bearer %s' "$key" | curl -sf -H @- -H 'Content-Type: application/json' -H 'X-Hermes-Session-Id: ${session}' \
       http://127.0.0.1:8642/v1/chat/completions -d '${JSON.stringify({ model: "hermes-agent", messages: [{ role: "user", content: text }] })}'`,
  );

/** Runs clm with these bytes as its input, and returns its output. */
function piped(words: string[], input: Buffer): Promise<Buffer> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [program, ...words], { env: { ...process.env, CLM_HOME: home } });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("error", failed);
    child.on("close", () => done(Buffer.concat(chunks)));
    child.stdin.end(input);
  });
}

type Line = [shown: RegExp, typed: string, then?: (type: (keys: string) => void) => Promise<void>];

/** A user in `clm agent shell`, on a terminal that a script prepares. */
function inShell(name: string, prepare: string, lines: Line[], end = "") {
  const command = `${prepare} ${end === "" ? "exec " : ""}'${process.execPath}' '${program}' agent shell ${name}${end}`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    env: { ...process.env, CLM_HOME: home, TERM: "screen-256color" },
  });
  const waiting = [...lines];
  let [screen, seen] = ["", 0];
  return new Promise<{ code: number | null; screen: string }>((done, failed) => {
    child.on("error", failed);
    child.stdout.on("data", (chunk) => {
      screen += chunk;
      const shown = stripVTControlCharacters(screen);
      const [expected, typed = "", then] = waiting[0] ?? [];
      if (!expected?.test(shown.slice(seen))) return;
      waiting.shift();
      seen = shown.length;
      child.stdin.write(typed);
      then?.((keys) => void child.stdin.write(keys)).catch(failed);
    });
    child.on("close", (code) => done({ code, screen: stripVTControlCharacters(screen) }));
  });
}

async function resize(tty: string): Promise<void> {
  const path = (await readFile(tty, "utf8")).trim();
  spawn("stty", ["-F", path, "rows", "40", "cols", "120"]);
}
