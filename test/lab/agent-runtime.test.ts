import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findAgent } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { pidOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { digests, give, giveFileServer, givePlugin, usersToml } from "./codex.js";
import { labFixture } from "./fixture.js";

const planted = "planted-mcp-token-5d0c1f9b7e";

const cases = [
  { name: "ada", host: "trial-1", hermes: "2026.7.1+standin", codex: "0.130.0", danger: ":danger-no-sandbox" },
  { name: "ben", host: "trial13-1", hermes: "2026.7.1+standin", codex: "0.166.0", danger: ":danger-full-access" },
];

const lab = labFixture({ agents: cases.map(({ host, name, hermes }) => ({ host, name, version: hermes })) });
const { home } = lab;
beforeAll(async () => {
  await lab.must("provider", "add", "gpt", "--type", "openai-codex", "--model", "gpt-5", "--no-test");
});

const runtime = async (words: string[], input = "") => {
  const { code, stdout, stderr } = await clm(["agent", "runtime", ...words, "-o", "json"], { home, input });
  return { code, stderr, told: stdout === "" ? undefined : JSON.parse(stdout) };
};
const enabled = async (...words: string[]) => {
  const { code, stderr, told } = await runtime(words);
  expect(code, stderr).toBe(0);
  return told;
};
const check = (told: { checks: { id: string; result: string; reason: string }[] }, id: string) =>
  told.checks.find((each) => each.id === id);
const chat = async (name: string, text: string) => (await clm(["chat", name], { home, input: text })).stdout;
const recorded = (name: string) => findAgent(hostStore(home).read(), name).record.runtime;

describe.each(cases)("$name on $host, with Codex $codex", ({ name, host, codex, danger }) => {
  // Behaviour of clm alone is tested with one Codex version; all of it with both is slow.
  const once = it.runIf(process.env.CLM_TEST_EXHAUSTIVE || codex === cases[0]?.codex);
  const toml = `/home/${name}/.codex/config.toml`;
  const read = (path: string) => inHost(host, `cat ${path}`);
  const codexCommand = (...words: string[]) => lab.must("agent", "exec", name, "--", "codex", ...words);

  it("lists everything that is missing, and changes nothing", async () => {
    const { must } = lab;
    await must("agent", "configure", name, "--provider", "gpt", "--no-test", "--no-validate");
    const before = await digests(host, name);
    const { code, stderr } = await runtime([name, "codex"]);
    expect(code).toBe(8);
    expect(stderr).toContain("there is no codex on the PATH of its service");
    expect(stderr).toContain("login.agent");
    expect(stderr).toContain("nothing was changed");
    expect(stderr).toContain(`clm agent runtime login ${name}`);
    expect(await digests(host, name)).toBe(before);
  });

  it("lists the pinned versions of Codex", async () => {
    const { code, stderr } = await runtime([name, "codex", "--install-codex", "--codex-version", "0.0.1"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("Codex 0.0.1 is not pinned")]);
    expect(stderr).toContain(codex);
  });

  it("gets Codex from this machine, and reports the missing login", async () => {
    await lab.must("agent", "exec", name, "--", "hermes", "auth", "add", "openai-codex");
    await lab.must("agent", "configure", name, "--provider", "gpt");
    const { code, stderr } = await runtime([name, "codex", "--install-codex", "--codex-version", codex]);
    expect(code).toBe(8);
    expect(stderr).toContain("login.codex: Codex is not logged in");
    expect((await codexCommand("--version")).stdout).toContain(codex);
    expect(await inHost(host, `stat -c %U /home/${name}/.local/bin/codex`)).toBe(`${name}\n`);
  });

  it("logs Codex in with a key from stdin, which appears nowhere else", async () => {
    const key = `sk-planted-${codex}-8c0d11`;
    const { code, stderr, told } = await runtime([name, "login", "--with-api-key"], `${key}\n`);
    expect(code, stderr).toBe(0);
    expect(told).toMatchObject({ codex: "apiKey", hermes: true, done: ["codex"] });
    expect(stderr).not.toContain(key);
    expect(await inHost(host, `journalctl --no-pager | grep -c '${key}' || true`)).toBe("0\n");
  });

  it("shows the changes of both files in a dry run, and changes nothing", async () => {
    const server = await giveFileServer(host, name);
    await give(host, name, toml, usersToml);
    await givePlugin(home, host, name);
    await clm(["agent", "secret", "set", name, "FILES_TOKEN", "--from", "-"], { home, input: planted });
    const answers = JSON.stringify({
      mcp: { files: { server: { ...server, env: { TOKEN: `\${FILES_TOKEN}` }, tools: { exclude: ["move_file"] } } } },
    });
    const file = `${home}/answers.yaml`;
    writeFileSync(file, answers);
    await lab.must("agent", "configure", name, "--file", file);

    const everything = () =>
      inHost(host, `find /home/${name}/.codex /home/${name}/.local -printf '%p %s %T@\\n' | sort`);
    const [before, files] = [await digests(host, name), await everything()];
    const { stdout, stderr, code } = await clm(["agent", "runtime", name, "codex", "--dry-run"], { home });
    expect(await everything()).toBe(files);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("+  openai_runtime: codex_app_server");
    expect(stdout).toContain("+[mcp_servers.files]");
    expect(stdout).toContain(`+env_vars = ["FILES_TOKEN"]`);
    expect(stdout).toContain("+[mcp_servers.hermes-tools]");
    expect(stderr).toContain("delegate_task, memory, session_search and todo");
    expect(stderr).toContain("tasks that use the subscription too: vision");
    expect(stdout + stderr).not.toContain(planted);
    expect(await digests(host, name)).toBe(before);
    expect(recorded(name)).toBeUndefined();
  });

  it("runs on Codex: files accepted, servers ready, plugin installed, a turn answered", async () => {
    const told = await enabled(name, "codex", "--no-mirror");
    expect(check(told, "permissions")).toMatchObject({ result: "ok", reason: ":workspace, sandbox workspaceWrite" });
    expect(check(told, "sandbox")).toMatchObject({ result: "ok" });
    expect(check(told, "mcp.files")?.reason).toMatch(/^1[0-9] tools: /);
    expect(check(told, "mcp.hermes-tools")).toMatchObject({ result: "ok" });
    expect(check(told, "plugin.demo@clm-local")).toMatchObject({ result: "ok" });
    expect(told.proofs.find(({ id }: { id: string }) => id === "chat")).toMatchObject({ result: "ok" });

    const text = await read(toml);
    expect(text).not.toContain(planted);
    expect(text.startsWith('# my own settings\nmodel = "gpt-5"\nmodel_provider = "echo"\n')).toBe(true);
    expect(text).toContain('[tui] # kept as it is\nnotifications = [\n  "agent-turn-complete",\n]\n');
    expect(text).toContain('disabled_tools = ["move_file"]');
    expect(await inHost(host, `stat -c '%a %U' ${toml}`)).toBe(`600 ${name}\n`);
  });

  it("answers through Codex, which stores the session", async () => {
    expect(await chat(name, "by way of codex")).toContain("echo: by way of codex");
    expect(await inHost(host, `grep -rl 'by way of codex' /home/${name}/.codex/sessions | wc -l`)).not.toBe("0\n");
  });

  it("changes nothing when run again", async () => {
    const before = await digests(host, name);
    expect((await enabled(name, "codex")).changes).toEqual([]);
    expect(await digests(host, name)).toBe(before);
  });

  once("is reported by diff, ps, doctor and status", async () => {
    const { must } = lab;
    await must("agent", "diff", name);
    const [seen] = JSON.parse((await must("ps", name, "-o", "json")).stdout);
    expect(seen.runtime).toEqual({ kind: "codex", setting: "codex_app_server", codex });
    const status = await enabled(name);
    expect(status).toMatchObject({ runtime: "codex", setting: "codex_app_server", codex: { version: codex } });
    expect(check(status, "mcp.files")).toMatchObject({ result: "ok" });

    await inHost(host, `sed -i 's/codex_app_server/auto/' /home/${name}/.hermes/config.yaml`);
    const [other] = JSON.parse((await clm(["ps", name, "-o", "json"], { home })).stdout);
    expect(other).toMatchObject({ state: "degraded", runtime: { setting: "auto" } });
    const doctor = await clm(["agent", "doctor", name, "-o", "json"], { home });
    expect(doctor.stdout).toContain("config.yaml does not select the Codex runtime, but auto");
    expect((await runtime([name])).code).toBe(1);
    await must("agent", "sync", name);
    await must("agent", "diff", name);
  });

  once("mirrors SOUL.md to Codex, and again after a change", async () => {
    const { must } = lab;
    await clm(["agent", "memory", "write", name, "SOUL.md", "--from", "-"], {
      home,
      input: "You are a tester. The handoff code is FIRST1.\n",
    });
    await enabled(name, "codex", "--mirror");
    expect(await chat(name, "What is the handoff code?")).toContain("FIRST1");
    await clm(["agent", "memory", "write", name, "SOUL.md", "--from", "-"], {
      home,
      input: "You are a tester. The handoff code is SECOND2.\n",
    });
    expect(await chat(name, "What is the handoff code?")).toContain("SECOND2");
    await must("agent", "diff", name);
    await enabled(name, "codex", "--no-mirror");
    expect(await inHost(host, `cat /home/${name}/.codex/AGENTS.md 2>&1 || true`)).not.toContain("SECOND2");
  });

  it("switches to another permission profile, by this version's name for it, and restarts", async () => {
    const pid = await pidOf(host, name);
    const read = await enabled(name, "codex", "--permissions", "read-only");
    expect(check(read, "permissions")?.reason).toBe(":read-only, sandbox readOnly");
    expect(await pidOf(host, name)).not.toBe(pid);
    const open = await enabled(name, "codex", "--permissions", "full-access");
    expect(check(open, "permissions")?.reason).toBe(`${danger}, sandbox dangerFullAccess`);
    const { code, stderr } = await runtime([name, "codex", "--permissions", ":workspace-write"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("has no permission profile :workspace-write")]);
    await enabled(name, "codex", "--permissions", "workspace");
  });

  once("may have its own CODEX_HOME", async () => {
    const own = `/home/${name}/.hermes/codex`;
    const { code, stderr } = await runtime([name, "codex", "--codex-home", "own"]);
    expect(code).toBe(8);
    expect(stderr).toContain(`clm agent runtime login ${name} --codex-home own`);
    expect(await inHost(host, `ls -d ${own} 2>&1 || true`)).toContain("No such file");
    const login = await runtime([name, "login", "--with-api-key", "--codex-home", "own"], "sk-planted-own\n");
    expect(login.code, login.stderr).toBe(0);
    await give(host, name, `${own}/config.toml`, usersToml);
    const there = await enabled(name, "codex", "--codex-home", "own");
    expect(check(there, "config")?.reason).toBe(`${own}/config.toml is read`);
    expect(await read(`${own}/config.toml`)).toContain("[mcp_servers.files]");
    expect(await read(`/home/${name}/.hermes/.env`)).toContain(`CODEX_HOME=${own}`);
    expect(await chat(name, "from a place of its own")).toContain("echo: from a place of its own");
    expect(await inHost(host, `grep -rl 'place of its own' ${own}/sessions | wc -l`)).not.toBe("0\n");
    const back = await enabled(name, "codex", "--codex-home", "shared");
    expect(check(back, "config")?.reason).toBe(`${toml} is read`);
    await lab.must("agent", "diff", name);
  });

  it.runIf(codex === "0.130.0")("keeps the installed Codex when another cannot be used", async () => {
    const words = [name, "codex", "--install-codex", "--codex-version", "0.166.0", "--permissions", ":no-such"];
    const { code, stderr } = await runtime(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining("undone: install Codex 0.166.0")]);
    expect((await codexCommand("--version")).stdout).toContain(codex);
    expect(await chat(name, "still here")).toContain("echo: still here");
  });

  once("keeps the user's own permission profile, and says so when another is requested", async () => {
    const before = await read(toml);
    await give(host, name, toml, `default_permissions = ":read-only"\n${before}`);
    const { code, stderr } = await runtime([name, "codex", "--permissions", "workspace"]);
    expect([code !== 0, stderr]).toEqual([
      true,
      expect.stringContaining("has default_permissions of its own: :read-only"),
    ]);
    expect((await runtime([name])).told).toMatchObject({ permissions: ":read-only" });
    await give(host, name, toml, before);
  });

  it("keeps a server added with Codex itself, which moves all servers into the managed block", async () => {
    const { must } = lab;
    const { command, args } = await giveFileServer(host, name);
    await codexCommand("mcp", "add", "extra", "--env", "A=b", "--", command, ...args);
    const { stderr } = await clm(["agent", "sync", name], { home });
    expect(stderr).toContain("server 'extra' is kept");
    expect(stderr).not.toContain("is removed");
    await must("agent", "diff", name);
    const status = await enabled(name);
    expect(check(status, "mcp.extra")).toMatchObject({ result: "ok" });
    expect(JSON.stringify(status)).not.toContain("project-local");
    const cleaned = await clm(["agent", "runtime", name, "auto", "--clean", "--dry-run"], { home });
    expect(cleaned.stdout).toContain("-[mcp_servers.files]");
    expect(cleaned.stdout).not.toContain("-[mcp_servers.extra]");
    await codexCommand("mcp", "remove", "extra");
    await must("agent", "sync", name);
  });

  once("reports a file that it must not change, and sends no other Codex", async () => {
    const other = cases.find((each) => each.codex !== codex)?.codex ?? "";
    await inHost(host, `cd /home/${name}/.codex && mv config.toml mine.toml && ln -s mine.toml config.toml`);
    const status = await runtime([name]);
    expect([status.code, check(status.told, "drift")]).toEqual([1, expect.objectContaining({ result: "fail" })]);
    const { code, stderr } = await runtime([name, "codex", "--install-codex", "--codex-version", other]);
    expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(`${toml} on ${host} cannot be read`)]);
    expect((await codexCommand("--version")).stdout).toContain(codex);
    await inHost(host, `cd /home/${name}/.codex && mv mine.toml config.toml`);
    await lab.must("agent", "diff", name);
  });

  it("is rolled back when Codex rejects its file, with the position in the file", async () => {
    const good = await read(toml);
    await give(host, name, toml, good.replace('model = "gpt-5"', "model_reasoning_summary = 7"));
    await lab.must("agent", "memory", "write", name, "SOUL.md", "--from", "/dev/null", "--yes");
    // A running agent had the rejected file for a moment, and is restarted with the previous one.
    const files = async () => (await digests(host, name)).replace(/\d+\n$/, "");
    const before = await files();
    const { code, stderr } = await runtime([name, "codex", "--permissions", "read-only"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/config\.toml:2:\d+/);
    expect(stderr).toContain("undone: write the files of Codex");
    expect(await files()).toBe(before);
    expect(recorded(name)?.permissions).toBe(":workspace");
    await give(host, name, toml, good);
  });

  once("is rolled back when a server does not start", async () => {
    const { must } = lab;
    await enabled(name, "auto");
    const broken = `${home}/broken.yaml`;
    writeFileSync(broken, JSON.stringify({ mcp: { broken: { server: { command: "/nonexistent/server" } } } }));
    await must("agent", "configure", name, "--file", broken);
    const before = await digests(host, name);
    const { code, stderr } = await runtime([name, "codex"]);
    expect(code).toBe(1);
    expect(stderr).toContain("mcp.broken: failed");
    expect(await digests(host, name)).toBe(before);
    expect(recorded(name)?.kind).toBe("auto");
    await must("agent", "configure", name, "--without-mcp", "broken");
  });

  it("runs its turns itself again, keeps the managed block, and switches back", async () => {
    await enabled(name, "auto");
    const kept = await read(toml);
    expect(kept).toContain("# end hermes-agent managed section");
    expect(await read(`/home/${name}/.hermes/config.yaml`)).toContain("openai_runtime: auto");
    expect(await inHost(host, `cat /etc/systemd/system/hermes-${name}.service`)).toContain("RestrictNamespaces=yes");
    expect(await chat(name, "by itself")).toContain("echo: by itself");
    expect(await inHost(host, `grep -rl 'by itself' /home/${name}/.codex/sessions | wc -l`)).toBe("0\n");
    await enabled(name, "on");
    expect(await read(toml)).toBe(kept);
    await enabled(name, "off", "--clean");
    const clean = await read(toml);
    expect(clean).not.toContain("hermes-agent");
    expect(clean.startsWith(usersToml.slice(0, 60))).toBe(true);
    await lab.must("agent", "diff", name);
  });
});

describe("killed or cut at any step, and run again", () => {
  const disturbed = (words: string[], env: Record<string, string>) =>
    clm(["agent", "runtime", ...words, "--skip-chat", "--debug"], {
      home,
      env: { NODE_OPTIONS: `--require ${resolve("test/faults/steps.cjs")}`, ...env },
    });
  /** Without the process id, which differs in every run. */
  const endOf = async ({ name, host }: (typeof cases)[number]) =>
    `${(await digests(host, name)).replace(/\d+\n$/, "")}${JSON.stringify(recorded(name))}`;

  it("ends like an undisturbed run", async () => {
    const list = join(home, "steps.json");
    const [first] = cases;
    const undisturbed = await disturbed([first?.name ?? "", "codex"], { CLM_STEPS_TO: list });
    expect(undisturbed, undisturbed.stderr).toMatchObject({ code: 0 });
    const count = JSON.parse(readFileSync(list, "utf8")).length;
    expect(count).toBeGreaterThan(10);
    const size = process.env.CLM_TEST_EXHAUSTIVE ? count : 2;
    const steps = Array.from({ length: size }, (_, at) => 1 + Math.floor(((at + 0.5) * count) / size));
    const failures: string[] = [];
    const among = cases.map(async (each, place) => {
      const { name } = each;
      await enabled(name, "codex", "--skip-chat");
      const meant = await endOf(each);
      for (const [at, step] of steps.entries()) {
        if (at % cases.length !== place) continue;
        const action = (at + Math.floor(at / cases.length)) % 2 === 0 ? "kill" : "cut";
        await enabled(name, "auto", "--clean");
        await disturbed([name, "codex"], { CLM_STEP: String(step), CLM_STEP_DO: action });
        const again = await runtime([name, "codex"]);
        const what = `${name}: ${action} at step ${step} of ${count}`;
        if (again.code !== 0) failures.push(`${what}: the rerun ended with ${again.code}: ${again.stderr}`);
        else if ((await endOf(each)) !== meant) failures.push(`${what}: ${await endOf(each)} is not ${meant}`);
      }
    });
    await Promise.all(among);
    expect(failures).toEqual([]);
  }, 1_500_000);
});

describe("several agents", () => {
  it("wait for the first, and are skipped when it fails", async () => {
    const names = cases.map(({ name }) => name);
    for (const { name, host } of cases) await inHost(host, `rm -f /home/${name}/.local/bin/codex`);
    const { code, told, stderr } = await runtime([...names, "codex"]);
    expect(code).toBe(8);
    expect(told.map(({ result }: { result: string }) => result)).toEqual(["failed", "not-begun"]);
    expect(stderr).toContain(
      `again: clm agent runtime codex ${names.map((name, at) => `${cases[at]?.host}/${name}`).join(" ")}`,
    );
  });
});
