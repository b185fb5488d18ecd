import { beforeAll, describe, expect, it } from "vitest";
import { misbehave, pidOf, unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

const host = "trial-3";
const name = "dora";
const token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GdOcTo.doctor_token_that_must_never_show_up0";

const lab = labFixture({ agents: [{ host, name }] });
const { home } = lab;
beforeAll(async () => {
  const words = ["--provider", "echo", "--channel", "discord", "--set", "discord.allowed_users=123456789012345678"];
  const env = { DORA_TOKEN: token };
  const args = ["agent", "configure", name, ...words, "--secret", "discord.token=env:DORA_TOKEN", "--no-test"];
  const { code, stderr } = await clm(args, { home, env });
  expect([code, stderr]).toEqual([0, stderr]);
});

interface Row {
  about: string;
  host: string;
  agent: string;
  id: string;
  result: string;
  reason: string;
  fix: string | null;
  fixed?: boolean;
}

async function doctor(...words: string[]) {
  const { code, stdout, stderr } = await clm(["agent", "doctor", name, "-o", "json", ...words], { home });
  expect(stdout, stderr).not.toBe("");
  const rows: Row[] = JSON.parse(stdout);
  return { code, stderr, rows, bad: rows.filter(({ result }) => result === "fail" || result === "warn") };
}

type Diagnosis = Awaited<ReturnType<typeof doctor>>;

/** Repeats the diagnosis until it is so: the effects of a start take a while. */
async function until(isSo: (found: Diagnosis) => boolean): Promise<Diagnosis> {
  for (let tries = 0; ; tries++) {
    const found = await doctor();
    if (isSo(found) || tries > 15) return found;
  }
}

const has = (id: string, result: string) => (found: Diagnosis) =>
  found.rows.some((row) => row.id === id && row.result === result);

describe("a healthy agent", () => {
  it("is reported in one line, with one connection and two execs", async () => {
    await until(({ bad }) => bad.length === 0);
    const { code, stdout, stderr } = await clm(["agent", "doctor", name, "--debug"], { home });
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^${host}/${name}: \\d+ checks, all passed\n$`)),
    ]);
    expect(stderr.match(/Sending CHANNEL_REQUEST \(r:\d+, exec/g)?.length).toBeLessThanOrEqual(2);
    expect(stderr.match(/Handshake completed/g)).toHaveLength(1);
  });

  it("passes every check", async () => {
    const { code, rows, bad } = await doctor();
    expect([code, bad]).toEqual([0, []]);
    expect(rows.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["auth.own-key", "drift", "provider.reach", "channel.discord", "disk", "clock", "log"]),
    );
    expect(new Set(rows.map((row) => `${row.about} ${row.host} ${row.agent}`))).toEqual(
      new Set([`agent ${host} ${name}`]),
    );
  });
});

describe("a problem is named", () => {
  it.each<[words: string, id: string, result: string, reason: RegExp, also?: string]>([
    ["port-taken", "log.port-taken", "fail", /another process on the host uses its port/],
    ["key-refused", "log.api-key-refused", "fail", /Hermes does not accept its API key/],
    ["channel-refused discord", "log.discord-token", "fail", /Discord refuses the bot's token/, "channel.discord"],
    ["mcp-slow 1", "log.mcp-server", "warn", /an MCP server is slow or does not answer/],
    [
      "say Error code: 401 - Incorrect API key provided",
      "log.provider-key-refused",
      "fail",
      /the provider refuses the key/,
    ],
  ])("%s", async (words, id, result, reason, also) => {
    await misbehave(host, name, words);
    const { code, bad } = await until(
      (found) =>
        has(id, result)(found) && (!also || has(also, "fail")(found)) && (result === "fail" || found.code === 0),
    );
    const found = bad.find((row) => row.id === id);
    expect(found, JSON.stringify(bad)).toMatchObject({ result, fix: expect.stringMatching(/^clm /) });
    expect(found?.reason).toMatch(reason);
    if (also) expect(bad.map((row) => row.id)).toContain(also);
    expect(code).toBe(result === "fail" ? 1 : 0);
  });

  it("a logged error that is over raises no alarm", async () => {
    await misbehave(host, name, "say API call failed after 3 retries: Connection error.");
    const { code, rows } = await until((found) => has("log.provider-down", "ok")(found) && found.code === 0);
    expect(code).toBe(0);
    const found = rows.find(({ id }) => id === "log.provider-down");
    expect(found).toMatchObject({
      reason: expect.stringMatching(/^has passed: .*cannot be reached .* ago/),
      fix: null,
    });
  });

  it("shows no secret and no control sequence, whatever the agent logs", async () => {
    await misbehave(host, name, `say the moon \u001b]0;stolen\u0007\u001b[2J shines on ${token}`);
    await until(has("errors", "warn"));
    for (const format of [["--verbose"], ["-o", "json"]]) {
      const { stdout, stderr } = await clm(["agent", "doctor", name, ...format], { home });
      expect(stdout).toContain("the moon");
      expect(stdout + stderr).not.toContain(token);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]|\\u001b|\\u0007/);
    }
  });

  it("the last log lines of a crashing agent are reported", async () => {
    await misbehave(host, name, "crash-loop");
    // Between two crashes it runs for a moment; only its log shows the problem then.
    const { code, bad } = await until((seen) => seen.code === 1 && has("errors", "warn")(seen));
    expect(code).toBe(1);
    expect(bad.find(({ id }) => id === "errors")?.reason).toContain("Unhandled exception in the gateway");
    expect(bad.some(({ id }) => id === "unit" || id === "steady")).toBe(true);
  });

  it("an error before the last start is not reported", async () => {
    // The restart counter lasts while systemd is about to start the unit again.
    await inHost(host, `systemctl stop ${unitOf(name)}`);
    await misbehave(host, name, "");
    const { code, bad } = await until(({ bad: all }) => all.length === 0);
    expect([code, bad]).toEqual([0, []]);
  });

  it("a provider that does not answer on the host", async () => {
    await inHost(host, "systemctl stop clm-lab-echo.socket clm-lab-echo.service");
    try {
      const { code, bad } = await doctor();
      expect([code, bad.map(({ id }) => id)]).toEqual([1, ["provider.reach"]]);
    } finally {
      await inHost(host, "systemctl start clm-lab-echo.socket");
    }
  });
});

describe("--fix", () => {
  const damage = `chmod 0644 /home/${name}/.hermes/config.yaml; sed -i '/^API_SERVER_ENABLED=/d' /home/${name}/.hermes/.env
systemctl stop ${unitOf(name)}`;

  it("only reports in a dry run", async () => {
    await inHost(host, damage);
    const { code, stderr, bad } = await doctor("--fix", "--dry-run");
    expect(code).toBe(1);
    expect(bad.map(({ id }) => id)).toEqual(expect.arrayContaining(["unit", "files", "drift"]));
    expect(stderr).toContain(`${host}/${name}: would run clm agent sync ${name}`);
    expect(await pidOf(host, name)).toBe("0");
  });

  it("repairs, diagnoses again, and reports what it did", async () => {
    const { code, stderr, rows, bad } = await doctor("--fix");
    expect([code, bad]).toEqual([0, []]);
    expect(stderr).toContain(`${host}/${name}: fixed by clm agent sync ${name}`);
    expect(rows.filter(({ fixed }) => fixed).map(({ id }) => id)).toEqual(
      expect.arrayContaining(["unit", "files", "drift"]),
    );
    expect(await pidOf(host, name)).not.toBe("0");
  });

  it("removes nothing that clm did not write", async () => {
    const env = `/home/${name}/.hermes/.env`;
    await inHost(host, `cp -a ${env} /run/kept.env; echo THEIRS=1 >>${env}`);
    const { code, stderr, bad } = await doctor("--fix");
    expect([code, bad.find(({ id }) => id === "drift")?.fix]).toEqual([1, `clm agent diff ${name}`]);
    expect(stderr).not.toContain("fixed by");
    expect(await inHost(host, `tail -n 1 ${env}; mv /run/kept.env ${env}`)).toBe("THEIRS=1\n");
  });

  it("changes nothing when there is no problem", async () => {
    const pid = await pidOf(host, name);
    const { code, stderr, rows } = await doctor("--fix");
    expect([code, rows.some(({ fixed }) => fixed)]).toEqual([0, false]);
    expect(stderr).not.toContain("fixed by");
    expect(await pidOf(host, name)).toBe(pid);
  });

  it("does not start an agent that clm stopped", async () => {
    await lab.must("agent", "stop", name);
    const { code, bad } = await doctor("--fix");
    expect([code, bad]).toEqual([0, []]);
    expect(await pidOf(host, name)).toBe("0");
  });
});

it("clm doctor checks this machine, every host and every agent", async () => {
  const { stdout, stderr } = await clm(["doctor", "-o", "json"], { home });
  expect(stdout, stderr).not.toBe("");
  const rows: Row[] = JSON.parse(stdout);
  expect(new Set(rows.map(({ about }) => about))).toEqual(new Set(["machine", "host", "agent"]));
  expect(rows.filter((row) => row.host === host && row.result === "fail")).toEqual([]);
  expect(rows.some((row) => row.agent === name)).toBe(true);
});
