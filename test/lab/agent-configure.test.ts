import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asEcho, pidOf, unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";
import { onTerminal } from "./terminal.js";

const host = "trial-1";
const name = "cora";
const env = `/home/${name}/.hermes/.env`;
const config = `/home/${name}/.hermes/config.yaml`;

const lab = labFixture({ agents: [{ host, name }] });
const { home } = lab;

const recorded = async () => JSON.parse((await lab.must("agent", "show", name, "-o", "json")).stdout);
const variables = async () => (await inHost(host, `sed -n 's/^\\([A-Z_0-9]*\\)=.*/\\1/p' ${env}`)).trim().split("\n");
const wellDone = async (...args: string[]) => {
  const { code, stderr, done } = await lab.configure(name, ...args);
  expect([code, done?.state], stderr).toEqual([0, "ready"]);
  return done;
};

describe("configure", () => {
  it("names the missing answers and their flags", async () => {
    const { code, stderr } = await lab.configure(name);
    expect(code).toBe(6);
    expect(stderr).toContain("--provider");
  });

  it("changes nothing in a dry run, and lists what would change", async () => {
    const before = await inHost(host, `sha256sum ${env} ${config}; systemctl is-active ${unitOf(name)} || true`);
    const files = await Promise.all(["hosts.json", "secrets.json"].map((file) => readFile(join(home, file), "utf8")));
    const { code, done } = await lab.configure(name, "--provider", "echo", "--dry-run");
    expect(code).toBe(0);
    const told = JSON.stringify(done.changes);
    for (const word of ["+ API_SERVER_KEY", "+ model.provider", "inactive -> started"]) expect(told).toContain(word);
    expect(done).toMatchObject({ state: "providers", dry_run: true, stages: [{ result: "open" }, {}, {}, {}] });
    expect(await inHost(host, `sha256sum ${env} ${config}; systemctl is-active ${unitOf(name)} || true`)).toBe(before);
    const after = await Promise.all(["hosts.json", "secrets.json"].map((file) => readFile(join(home, file), "utf8")));
    expect(after).toEqual(files);
  });

  it("of one stage leaves the next stage open, and the agent cannot start", async () => {
    const { code, stderr, done } = await lab.configure(
      name,
      "--provider",
      "echo",
      "--stage",
      "providers",
      "--skip-chat",
    );
    expect([code, done?.state], stderr).toEqual([0, "channels"]);
    expect(done.stages.map((stage: { name: string; result: string }) => [stage.name, stage.result])).toEqual([
      ["providers", "complete"],
      ["identity", "skipped"],
      ["channels", "open"],
      ["validate", "complete"],
    ]);
    expect((await recorded()).onboarding.stages).not.toHaveProperty("channels");
    const started = await clm(["agent", "start", name], { home });
    expect([started.code === 0, started.stderr]).toEqual([false, expect.stringContaining("(state=channels)")]);
  });

  it("by flags completes all stages, and a model answers", async () => {
    const done = await wellDone("--provider", "echo");
    expect(done.stages.map((stage: { name: string; result: string }) => [stage.name, stage.result])).toEqual([
      ["providers", "complete"],
      ["identity", "skipped"],
      ["channels", "complete"],
      ["validate", "complete"],
    ]);
    expect(done.proofs.map(({ result }: { result: string }) => result)).toEqual(Array(11).fill("ok"));
    expect(done.proofs.at(-1).reason).toContain("echo: ");
    expect(await inHost(host, `stat -c '%a %U' ${env} ${config}`)).toBe(`600 ${name}\n600 ${name}\n`);
    expect(await inHost(host, `systemctl is-enabled ${unitOf(name)}`)).toBe("enabled\n");
    expect(await recorded()).toMatchObject({ onboarding: { state: "ready" }, proven: { chat: true } });
  });

  it.each([
    ["by its name alone", []],
    ["with the same words", ["--provider", "echo"]],
  ])("a second time, %s, changes and restarts nothing, with one exec", async (_how, words) => {
    const pid = await pidOf(host, name);
    const fleet = await readFile(join(home, "hosts.json"), "utf8");
    const again = ["agent", "configure", name, ...words, "-o", "json", "--debug"];
    const { code, stdout, stderr } = await clm(again, { home });
    expect(code).toBe(0);
    const done = JSON.parse(stdout);
    expect(done.changes).toEqual([]);
    expect(done.proofs.at(-1)).toMatchObject({ id: "chat", result: "skipped" });
    expect(done.proofs.at(-1).reason).toMatch(/^proven .* ago, unchanged since$/);
    // Counted in the debug output of the SSH library.
    expect(stderr.match(/Sending CHANNEL_REQUEST \(r:\d+, exec/g)).toHaveLength(1);
    expect(await pidOf(host, name)).toBe(pid);
    expect(await readFile(join(home, "hosts.json"), "utf8")).toBe(fleet);
  });

  it("tests a provider again when it was changed or its stage is named", async () => {
    const reason = (done: { stages: { name: string; reason: string }[] }) => done.stages[0]?.reason;
    expect(reason(await wellDone("--provider", "echo"))).toBe("echo");
    expect(reason(await wellDone("--provider", "echo", "--stage", "providers"))).toContain("answers (200)");
    const at = "http://localhost:4180";
    const update = ["provider", "update", "echo", "--endpoint", at, "--no-test", "--yes"];
    expect((await clm(update, { home })).code).toBe(0);
    expect(reason(await wellDone("--provider", "echo"))).toContain("answers (200)");
  });

  it("does not switch a working agent to an unreachable provider", async () => {
    const pid = await pidOf(host, name);
    const to = (at: string) => clm(["provider", "update", "echo", "--endpoint", at, "--no-test", "--yes"], { home });
    expect((await to("http://127.0.0.1:1")).code).toBe(0);
    for (const flags of [["--dry-run"], []]) {
      const { code, stderr } = await lab.configure(name, ...flags);
      expect([code, stderr]).toEqual([1, expect.stringContaining("nothing was changed")]);
    }
    expect(await pidOf(host, name)).toBe(pid);
    expect((await to("http://127.0.0.1:4180")).code).toBe(0);
    await wellDone();
  });

  it("accepts no answers for the validate stage", async () => {
    for (const flags of [["--model", "x"], ["--port", "8699"], ["--channel", "webhook"], ["--no-validate"]]) {
      const { code, stderr } = await lab.configure(name, "--stage", "validate", ...flags);
      expect([flags, code, stderr]).toEqual([flags, 2, expect.stringContaining("--stage validate")]);
    }
  });

  it("lists the variables that it changes", async () => {
    const said = async (...flags: string[]) => JSON.stringify((await wellDone(...flags)).changes);
    expect(await said("--port", "8692")).toContain("~ API_SERVER_PORT");
    expect(await said("--port", "auto", "--model", "echo-9")).toContain("~ model.default");
    expect((await recorded()).model).toBe("echo-9");
    await wellDone("--model", "none");
    // The provider's own variable.
    expect((await recorded()).model).toBe("echo-1");
  });

  it("restarts once after a change, and keeps the user's own settings in config.yaml", async () => {
    await inHost(host, `printf '# mine\\nagent:\\n  max_turns: 7 # seven\\n' >>${config}`);
    expect((await wellDone()).changes).toEqual([]);
    const pid = await pidOf(host, name);
    const done = await wellDone("--model", "echo-2");
    const told = JSON.stringify(done.changes);
    expect(told).toContain("~ model.default");
    expect(told).toContain("restart");
    expect(await pidOf(host, name)).not.toBe(pid);
    expect(await inHost(host, `systemctl show -p NRestarts --value ${unitOf(name)}`)).toBe("0\n");
    const text = await inHost(host, `cat ${config}`);
    for (const line of ["# mine", "  max_turns: 7 # seven", "  default: echo-2"]) expect(text).toContain(line);
  });

  it("keeps and names a foreign variable in .env until --allow-removal", async () => {
    await inHost(host, `printf 'FOREIGN_KEY=planted-value\\n' >>${env}`);
    const pid = await pidOf(host, name);
    const { code, stderr } = await lab.configure(name, "--model", "echo-3");
    expect(code).toBe(5);
    expect(stderr).toContain("FOREIGN_KEY");
    expect(stderr).not.toContain("planted-value");
    expect(await variables()).toContain("FOREIGN_KEY");
    expect(await pidOf(host, name)).toBe(pid);
    expect((await recorded()).model).toBe("echo-2");
    const done = await wellDone("--allow-removal");
    expect(JSON.stringify(done.changes)).toContain("- FOREIGN_KEY");
    expect(await variables()).not.toContain("FOREIGN_KEY");
  });

  it("removes the key of a provider that is no longer used", async () => {
    const key = { home, env: { ECHO_KEY: "sk-planted-echo-key" } };
    const added = await clm(["provider", "add", "keyed", ...asEcho, "--secret", "api_key=env:ECHO_KEY"], key);
    expect(added, added.stderr).toMatchObject({ code: 0 });
    await wellDone("--provider", "keyed");
    expect(await inHost(host, `grep -c sk-planted-echo-key ${env}`)).toBe("1\n");
    await wellDone("--provider", "echo");
    expect(await inHost(host, `grep -r sk-planted-echo-key ${env} ${config} || echo none`)).toBe("none\n");
  });

  it("killed between writing the files and the restart, restarts in the next run", async () => {
    await inHost(
      host,
      `mv /usr/bin/systemctl /usr/bin/systemctl.real
printf '#!/bin/sh\\n[ "$1" != restart ] || { kill -9 $PPID; exit 1; }\\nexec /usr/bin/systemctl.real "$@"\\n' >/usr/bin/systemctl
chmod 755 /usr/bin/systemctl`,
    );
    const pid = await pidOf(host, name);
    try {
      expect((await lab.configure(name, "--model", "echo-4")).code).not.toBe(0);
    } finally {
      await inHost(host, "mv /usr/bin/systemctl.real /usr/bin/systemctl");
    }
    expect(await inHost(host, `grep -c 'default: echo-4' ${config}`)).toBe("1\n");
    expect(await pidOf(host, name)).toBe(pid);
    expect((await recorded()).onboarding.state).toBe("validate");
    const done = await wellDone();
    expect(done.changes.map(({ what }: { what: string }) => what)).toEqual([`unit ${unitOf(name)}`]);
    expect(await pidOf(host, name)).not.toBe(pid);
    expect((await wellDone()).changes).toEqual([]);
  });

  it("that fails to prove the agent exits non-zero, and reports its other observations", async () => {
    await lab.must("agent", "stop", name);
    const { code, stderr, done } = await lab.configure(name, "--stage", "validate");
    expect(done).toMatchObject({ agent: `${host}:hermes:${name}`, name, host, stages: [{ result: "failed" }] });
    const { error } = JSON.parse(stderr);
    expect([code, error.exit, error.fault]).toEqual([1, 1, "check-failed"]);
    expect(error.why).toContainEqual(expect.stringMatching(/^unit: .* is stopped/));
    expect(error.next).toContain(`clm agent start ${name}`);
    await wellDone();
  });

  it("moves to another port, but not to one in use", async () => {
    const { port } = await recorded();
    const taken = await lab.configure(name, "--port", "22");
    expect([taken.code, taken.stderr]).toEqual([5, expect.stringContaining("22")]);
    expect(JSON.parse(taken.stderr).error.next).toEqual([`clm agent configure ${name} -o json --port auto`]);
    expect((await recorded()).port).toBe(port);
    await wellDone("--port", "8690");
    expect(await inHost(host, `grep API_SERVER_PORT ${env}`)).toBe("API_SERVER_PORT=8690\n");
    expect((await wellDone("--port", "auto")).changes).toEqual([]);
  });
});

describe("channels", () => {
  const token = `MTA.planted.${"x".repeat(50)}`;
  const here = () => ({ home, env: { BOT: token } });
  const on = ["agent", "configure", name, "--channel", "discord", "--no-test", "--secret", "discord.token=env:BOT"];

  it("refuse invalid answers before anything changes", async () => {
    const before = await readFile(join(home, "hosts.json"), "utf8");
    const wrong: [string[], number, string][] = [
      [["--channel", "discrod"], 2, "discord"],
      [["--set", "discord.allowed_users=1"], 2, "--channel discord"],
      [["--channel", "discord"], 6, "--secret discord.token=env:VARIABLE"],
      [[...on.slice(3)], 6, "--set discord.allowed_users"],
      [[...on.slice(3), "--set", "discord.allowed_users=bob"], 2, "17 to 20 digits"],
      [["--channel", "discord", "--set", `discord.token=${token}`], 2, "never an argument"],
      [["--channel", "discord", "--secret", `discord.token=${token}`], 2, "never an argument"],
      [["--auxiliary", "dancing=echo"], 2, "dancing"],
      [["--provider", "nobody"], 4, "nobody"],
    ];
    for (const [flags, exit, says] of wrong) {
      const { code, stderr } = await clm(["agent", "configure", name, ...flags], here());
      expect([flags, code, stderr]).toEqual([flags, exit, expect.stringContaining(says)]);
      expect(stderr).not.toContain(token);
    }
    expect(await readFile(join(home, "hosts.json"), "utf8")).toBe(before);
  });

  it("keep their secrets only in secrets.json and .env, and remove them with the channel", async () => {
    const { code, stdout, stderr } = await clm([...on, "--set", "discord.allowed_users=123456789012345678"], here());
    expect(code, stderr).toBe(0);
    expect(await readFile(join(home, "secrets.json"), "utf8")).toContain(token);
    for (const text of [stdout, stderr, await readFile(join(home, "hosts.json"), "utf8")]) {
      expect(text).not.toContain(token);
    }
    expect(await variables()).toEqual(expect.arrayContaining(["DISCORD_BOT_TOKEN", "DISCORD_ALLOWED_USERS"]));
    await wellDone("--without-channel", "discord");
    expect((await variables()).filter((each) => each.startsWith("DISCORD"))).toEqual([]);
    expect(await readFile(join(home, "secrets.json"), "utf8")).not.toContain(token);
  });

  it("can be read from a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "clm-answers-"));
    const file = join(folder, "answers.yaml");
    await writeFile(file, "channels:\n  discord: {token: env:BOT, allowed_users: ['123456789012345678']}\n");
    const { code, stderr } = await clm(
      ["agent", "configure", name, "--file", file, "--no-test", "--skip-chat"],
      here(),
    );
    expect(code, stderr).toBe(0);
    expect((await recorded()).channels).toEqual({ discord: { allowed_users: "123456789012345678" } });
    await rm(folder, { recursive: true });
  });
});

describe("on a terminal", () => {
  const [down, enter] = ["\u001b[B", "\r"];
  const token = `MTA.planted.${"y".repeat(50)}`;

  it("fetches a secret once, however many stages there are", async () => {
    await lab.install(host, "elsa", "2026.7.1+standin");
    const folder = await mkdtemp(join(tmpdir(), "clm-once-"));
    try {
      const source = `cmd:echo asked >>${folder}/asked; echo ${token}`;
      const channel = ["--channel", "discord", "--set", "discord.allowed_users=123456789012345678"];
      const words = ["agent", "configure", "elsa", ...channel, "--secret", `discord.token=${source}`];
      const { code, screen } = await onTerminal([...words, "--no-test", "--no-validate"], {
        home,
        answers: [[/Provider for elsa/, enter]],
      });
      expect(code, screen).toBe(0);
      expect(await readFile(join(folder, "asked"), "utf8")).toBe("asked\n");
      expect(screen).toMatch(/elsa is not ready \(state=validate\)\s+next: clm agent configure elsa\s/);
    } finally {
      await lab.remove("elsa");
      await rm(folder, { recursive: true });
    }
  });

  it("asks nothing when flags answer all required questions", async () => {
    await lab.install(host, "fay", "2026.7.1+standin");
    try {
      const words = ["agent", "configure", "fay", "--provider", "echo", "--no-validate"];
      const { code, screen } = await onTerminal(words, { home, answers: [] });
      expect(code, screen).toBe(0);
      expect(screen).not.toContain("Another?");
      expect(screen).toMatch(/channels +complete +api_server/);
    } finally {
      await lab.remove("fay");
    }
  });

  it("asks for missing answers, and not again the next time", async () => {
    await lab.install(host, "dora", "2026.7.1+standin");
    try {
      const [provider, others] = [/Provider for dora/, /Channels: the local API is always on\. Another\?/];
      const left: [RegExp, string][] = [
        [provider, enter],
        [others, "\u0003"],
      ];
      expect((await onTerminal(["agent", "configure", "dora"], { home, answers: left })).code).toBe(130);
      const { code, screen } = await onTerminal(["agent", "configure", "dora"], { home, answers: [[others, enter]] });
      expect(code, screen).toBe(0);
      // Answers given before it was aborted are kept.
      expect(screen).not.toMatch(provider);
      expect(screen).toContain("trial-1:hermes:dora is ready");
      expect((await onTerminal(["agent", "configure", "dora"], { home, answers: [] })).code).toBe(0);

      const channel: [RegExp, string][] = [
        [/Another\?/, down + enter],
        [/Bot token \(discord\.token\)/, `${token}${enter}`],
        [/Who may talk to it/, `bob${enter}`],
        [/17 to 20 digits[\s\S]*Who may talk to it/, `123456789012345678${enter}`],
        [/Home channel \(id\)/, enter],
        [/home channel's name/, enter],
        [/Thread of the home channel/, enter],
        [/Channels it may speak in/, enter],
        [/always on, discord\. Another\?/, enter],
      ];
      const asked = await onTerminal(["agent", "configure", "dora", "--stage", "channels", "--no-test"], {
        home,
        answers: channel,
      });
      expect(asked.code, asked.screen).toBe(0);
      expect(asked.screen).not.toContain(token);
      const { channels } = JSON.parse((await lab.must("agent", "show", "dora", "-o", "json")).stdout);
      expect(channels).toEqual({ discord: { allowed_users: "123456789012345678" } });
    } finally {
      await lab.remove("dora");
    }
  });
});
