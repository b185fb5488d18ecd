import { afterEach, describe, expect, it, vi } from "vitest";
import { clm } from "./world.js";

vi.mock("../../../src/cli/catalog.js", () => import("./try-catalog.js"));
afterEach(() => vi.restoreAllMocks());

describe("a run", () => {
  it("passes a command its dependencies and returns its code", async () => {
    const { code, stdout } = await clm([
      "--config-dir",
      "/x",
      "try",
      "context",
      "a",
      "b",
      "--code",
      "42",
      "--dry-run",
      "-y",
    ]);
    expect(code).toBe(42);
    expect(JSON.parse(stdout)).toEqual({
      args: { words: ["a", "b"] },
      options: { code: 42, loud: false, who: "me" },
      configDir: "/x",
      elsewhere: "/x",
      format: "table",
      yes: true,
      dryRun: true,
      argv: ["--config-dir", "/x", "try", "context", "a", "b", "--code", "42", "--dry-run", "-y"],
      now: "2026-01-01T00:00:00.000Z",
    });
  });

  it("nothing returned is 0", async () => expect((await clm(["try", "one"])).code).toBe(0));

  it.each([
    [{ HOME: "/h" }, "/h/.config/clawrium"],
    [{ HOME: "/h", XDG_CONFIG_HOME: "/c" }, "/c/clawrium"],
    [{ HOME: "/h", XDG_CONFIG_HOME: "/c", CLM_HOME: "/clm" }, "/clm"],
  ])("finds the config directory: %j", async (env, configDir) => {
    const { stdout } = await clm(["try", "context"], { env });
    expect(JSON.parse(stdout).configDir).toBe(configDir);
  });

  it("prints help and the version on stdout", async () => {
    expect(await clm([])).toMatchObject({ code: 0, stdout: expect.stringContaining("Usage: clm"), stderr: "" });
    expect(await clm(["try", "--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^clm \d/),
      stderr: "",
    });
  });
});

describe("printing", () => {
  it.each([
    [[], "NAME   NOTE\na      日本\nb      -\n\na at length:\n  日本\n"],
    [["-o", "name"], "a\nb\n"],
    [
      ["-o", "json"],
      `${JSON.stringify(
        [
          { name: "a", added_at: "2026", note: "日本\u001b[2J" },
          { name: "b", added_at: "2027" },
        ],
        null,
        2,
      )}\n`,
    ],
    [["-o", "yaml"], '- name: a\n  added_at: "2026"\n  note: "日本\\e[2J"\n- name: b\n  added_at: "2027"\n'],
  ])("rows with %j", async (options, stdout) => {
    expect(await clm(["try", "rows", ...options])).toEqual({ code: 0, stdout, stderr: "" });
  });

  it.each([
    [[], "", "Nothing yet.\n"],
    [["-q"], "", ""],
    [["-o", "name"], "", ""],
    [["-o", "json"], "[]\n", ""],
    [["-o", "yaml"], "[]\n", ""],
  ])("no rows with %j", async (options, stdout, stderr) => {
    expect(await clm(["try", "none", ...options])).toEqual({ code: 0, stdout, stderr });
  });

  it.each([
    [[], "Name: a\n"],
    [["-o", "json"], '{\n  "name": "a",\n  "agents": 2\n}\n'],
    [["-o", "yaml"], "name: a\nagents: 2\n"],
  ])("one thing with %j", async (options, stdout) => {
    expect((await clm(["try", "one", ...options])).stdout).toBe(stdout);
  });

  it("cuts a table only on a terminal", async () => {
    expect((await clm(["try", "rows"], { tty: { columns: 9 } })).stdout).toContain("…");
  });
});

describe("what goes wrong", () => {
  it("is printed after the results, without secrets, with its own exit code", async () => {
    expect(await clm(["try", "fail"])).toEqual({
      code: 10,
      stdout: "half a hunter20",
      stderr: "error: wolf-i does not answer [CLM-2002]\n  password [secret]\n  next: clm try bug\n",
    });
  });

  it("names the command that answers a question", async () => {
    expect(await clm(["try", "ask", "--config-dir", "a b"])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("\n  next: clm --yes try ask --config-dir 'a b'\n"),
    });
    expect((await clm(["--yes", "try", "ask"])).code).toBe(0);
  });

  it("is JSON when JSON was asked for", async () => {
    const { code, stderr } = await clm(["try", "fail", "-o", "json"]);
    expect(code).toBe(10);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "CLM-2002", why: ["password [secret]"] });
  });

  it.each([["-o", "json"], ["-ojson"], ["--output=json"], ["--output", "json"]])(
    "also before it was understood: %s %s",
    async (...options) => {
      const { code, stderr } = await clm(["try", "nothing", ...options.filter(Boolean)]);
      expect(code).toBe(2);
      expect(JSON.parse(stderr).error).toMatchObject({ code: "CLM-1001", next: ["clm try --help"] });
    },
  );

  it("is a sentence when that only stands after --", async () => {
    const { code, stderr } = await clm(["try", "nothing", "--", "-o", "json"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: clm try has no command 'nothing' \[CLM-1001\]\n/);
  });

  it("is a bug of clm when it is unexpected", async () => {
    const { code, stderr } = await clm(["try", "bug"]);
    expect(code).toBe(70);
    expect(stderr).toMatch(/^error: x is not a function \[CLM-9001\]\n/);
    expect(stderr).not.toContain("try-catalog");
    expect((await clm(["try", "bug", "--debug"])).stderr).toContain("try-catalog");
  });

  it("is a bug of clm when it is uncaught", async () => {
    const crash = new Promise<never>((_, reject) => setTimeout(reject, 5, new Error("uncaught")));
    const { code, stderr } = await clm(["try", "stubborn"], { crash });
    expect(code).toBe(70);
    expect(stderr).toContain("error: uncaught [CLM-9001]");
  });
});

describe("being asked to stop", () => {
  function stopping() {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    return { signal: stop.signal };
  }
  const safely = "stopping safely; press Ctrl-C again to stop at once\n";

  it("ends as interrupted", async () => {
    expect(await clm(["try", "wait"], stopping())).toEqual({
      code: 130,
      stdout: "waiting\n",
      stderr: `patience ...\n${safely}error: stopped before it was done [CLM-7001]\n`,
    });
  });

  it("names the command to resume after a change, and further observations", async () => {
    expect((await clm(["try", "change", "--config-dir", "a b"], stopping())).stderr).toBe(
      `${safely}error: stopped before it was done [CLM-7001]\n  the host hung up\n  next: clm try change --config-dir 'a b'\n`,
    );
  });

  it("is one JSON object on stderr when JSON was asked for", async () => {
    const { code, stderr } = await clm(["try", "wait", "-o", "json"], stopping());
    expect(code).toBe(130);
    expect(JSON.parse(stderr).error).toMatchObject({ fault: "interrupted" });
  });

  it("is printed with --quiet too", async () => {
    expect((await clm(["try", "wait", "-q"], stopping())).stderr).toContain(safely);
  });

  it("does not hide that the command was done", async () => {
    expect(await clm(["try", "finish"], stopping())).toMatchObject({ code: 3, stderr: safely });
  });
});
