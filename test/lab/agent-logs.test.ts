import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/secret.js";
import { openSecrets } from "../../src/state/secrets.js";
import { plant, spellings } from "../faults/planted.js";
import { unitOf } from "./agents.js";
import { clm, copyOfHome, inHost, program } from "./clm.js";
import { labFixture } from "./fixture.js";

const host = "trial-1";
const folder = "/home/ada/.hermes/logs";

interface LogLine {
  time: string;
  agent: string;
  host: string;
  level: string;
  source: string;
  logger: string | null;
  message: string;
}

const logs = (...words: string[]) => clm(["agent", "logs", ...words], { home });

async function logLines(...words: string[]): Promise<LogLine[]> {
  const { code, stdout, stderr } = await logs(...words, "-o", "json");
  expect(code, stderr).toBe(0);
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const messages = (all: LogLine[]) => all.map(({ message }) => message);

/** Writes to a log file as the agent does. */
const write = (file: string, text: string) =>
  inHost(
    host,
    `printf %s '${Buffer.from(text).toString("base64")}' | base64 -d | setpriv --reuid ada --regid ada --clear-groups tee -a ${folder}/${file} >/dev/null`,
  );

const stamp = (secondsAgo: number, millis = "000") =>
  `${new Date(Date.now() - secondsAgo * 1000).toISOString().slice(0, 19).replace("T", " ")},${millis}`;

/** Matches the log readers on the host; `[x]` keeps pgrep from matching itself. */
const readers = () =>
  inHost(host, "pgrep -fa '[t]ail -s|[j]ournalctl --quiet|[s]ed -e s|[s]tdbuf|[t]imeout --foreground' || true");
const untilNoReaders = () =>
  inHost(
    host,
    "for n in $(seq 100); do pgrep -f '[t]ail -s|[j]ournalctl --quiet|[t]imeout --foreground' >/dev/null || exit 0; sleep 0.1; done; exit 1",
  );

const lab = labFixture({ agents: ["ada", "ben"].map((name) => ({ host, name })) });
const { home } = lab;
beforeAll(async () => {
  await lab.must("agent", "start", "ada", "--force");
});
beforeEach(() => inHost(host, `rm -rf ${folder}; install -d -o ada -g ada -m 700 ${folder}`));

describe("past log entries", () => {
  it("are in time order, each once, with their continuation lines", async () => {
    const [one, two, three] = [stamp(30), stamp(20), stamp(10)];
    await write(
      "agent.log",
      `${one} INFO gateway.run: one\n${two} ERROR tools.x: two\nTraceback (most recent call last):\n  File "x.py"\n`,
    );
    await write("errors.log", `${two} ERROR tools.x: two\nTraceback (most recent call last):\n  File "x.py"\n`);
    await write("gateway.log", `${one} INFO gateway.run: one\n${three} WARNING [s1] gateway.run: three\n`);
    await write("mcp-stderr.log", `\n===== [${stamp(25).slice(0, 19)}] starting MCP server 'm' =====\nfrom m\n`);
    const all = await logLines("ada", "--since", "1h");
    expect(all.map(({ time }) => time)).toEqual(all.map(({ time }) => time).sort());
    expect(all.filter(({ source }) => source !== "journal")).toMatchObject([
      { agent: "ada", host, level: "info", source: "agent", logger: "gateway.run", message: "one" },
      { level: "info", source: "mcp-stderr", message: "starting MCP server 'm'" },
      { level: "info", source: "mcp-stderr", message: "from m" },
      { level: "error", logger: "tools.x", message: 'two\nTraceback (most recent call last):\n  File "x.py"' },
      { level: "warning", source: "gateway", logger: "gateway.run", message: "three" },
    ]);
    expect(messages(all.filter(({ source }) => source === "journal")).join()).toContain(`Started ${unitOf("ada")}`);
  });

  it("are selected by text, level, time, number and source", async () => {
    const lines = Array.from(
      { length: 300 },
      (_, at) => `${stamp(7000 - at)} ${at % 10 === 0 ? "WARNING" : "INFO"} a: line ${at}\n`,
    );
    await write("agent.log.1", lines.slice(0, 150).join(""));
    await write("agent.log", `${lines.slice(150).join("")}${stamp(60)} INFO a: New\n`);
    const file = ["--source", "agent"];
    expect(await logLines("ada", ...file)).toHaveLength(100);
    expect(messages(await logLines("ada", ...file, "--lines", "2"))).toEqual(["line 299", "New"]);
    expect(messages(await logLines("ada", ...file, "--lines", "2", "--level", "warning"))).toEqual([
      "line 280",
      "line 290",
    ]);
    expect(messages(await logLines("ada", ...file, "--grep", "LINE 1.$"))).toEqual([]);
    expect(messages(await logLines("ada", ...file, "--grep", "line 1.$", "--lines", "3"))).toEqual([
      "line 17",
      "line 18",
      "line 19",
    ]);
    expect(messages(await logLines("ada", ...file, "--grep", "new"))).toEqual(["New"]);
    expect(await logLines("ada", ...file, "--since", "3h")).toHaveLength(301);
    expect(messages(await logLines("ada", ...file, "--since", "10m"))).toEqual(["New"]);
    expect(messages(await logLines("ada", ...file, "--since", "3h", "--until", "10m", "--lines", "1"))).toEqual([
      "line 299",
    ]);
    expect(
      new Set((await logLines("ada", "--since", "1h", "--source", "journal")).map(({ source }) => source)),
    ).toEqual(new Set(["journal"]));
  });

  it("have the time that the host's clock means", async () => {
    await inHost(host, "cp -P /etc/localtime /root/localtime; ln -sf /usr/share/zoneinfo/Etc/GMT-5 /etc/localtime");
    try {
      await write("agent.log", "2026-01-01 05:00:00,250 INFO a: happy new year\n");
      expect(await logLines("ada", "--source", "agent")).toMatchObject([{ time: "2026-01-01T00:00:00.250Z" }]);
      const { stdout } = await logs("ada", "--source", "agent", "--utc");
      expect(stdout).toBe("2026-01-01T00:00:00Z INFO    a: happy new year\n");
    } finally {
      await inHost(host, "cp -Pf /root/localtime /etc/localtime; rm /root/localtime");
    }
  });

  it("clm reads no file that the agent cannot read itself", async () => {
    await inHost(
      host,
      `echo '${stamp(5)} INFO a: of root' > /root/planted.log; chmod 600 /root/planted.log; ln -s /root/planted.log ${folder}/agent.log; mkfifo ${folder}/errors.log; chown -h ada: ${folder}/*`,
    );
    expect((await logs("ada")).stdout).not.toContain("of root");
    await inHost(host, "rm /root/planted.log");
  });

  it("of several agents name their agent, and an unreachable host is named", async () => {
    await write("agent.log", `${stamp(1)} INFO a: here\n`);
    const both = await logs("ada", "ben", "--source", "agent");
    expect([both.code, both.stdout]).toEqual([0, expect.stringMatching(/^trial-1\/ada \| .* INFO {4}a: here\n$/)]);

    const other = await copyOfHome(home);
    const file = join(other.home, "hosts.json");
    const fleet = JSON.parse(readFileSync(file, "utf8"));
    const [from, to] = [host, "trial-2"].map((name) =>
      fleet.hosts.find((each: { name: string }) => each.name === name),
    );
    Object.assign(to, { port: 1, agents: { cora: from.agents.ben } });
    writeFileSync(file, JSON.stringify(fleet), { mode: 0o600 });
    try {
      const some = await clm(["agent", "logs", "ada", "cora", "--source", "agent"], { home: other.home });
      expect([some.code, some.stdout]).toEqual([10, expect.stringContaining("a: here")]);
      expect(some.stderr).toContain("cannot reach trial-2");
      expect((await clm(["agent", "logs", "cora"], { home: other.home })).code).toBe(10);
    } finally {
      await other.remove();
    }
  });

  it("an unknown agent is named", async () => {
    const unit = `/etc/systemd/system/${unitOf("ben")}`;
    await inHost(host, `mv ${unit} /root/unit; systemctl daemon-reload`);
    try {
      const { code, stderr } = await logs("ben");
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/there is no unit hermes-ben\.service\n.*next: clm ps ben/),
      ]);
    } finally {
      await inHost(host, `mv /root/unit ${unit}; systemctl daemon-reload`);
    }
  });
});

it("show no secret, in any encoding and wherever it is cut", async () => {
  const planted = plant("token", `"/+ €'x`);
  const pem = `-----BEGIN PRIVATE KEY-----\n${"QUJDREVGR0hJ".repeat(5)}\n${"S0xNTk9QUVJT".repeat(5)}\n-----END PRIVATE KEY-----`;
  const instance = { host, type: "hermes", agent: "ada" };
  await openSecrets(home).set(instance, "PLANTED", new Secret(planted.value), "");
  await openSecrets(home).set(instance, "PLANTED_KEY", new Secret(pem), "");
  // Hex is not among the redacted encodings.
  const { hex: _, HEX: __, ...found } = spellings(planted.value);
  const { value } = planted;
  const ways = [
    ...[value, JSON.stringify({ value }), encodeURIComponent(value), new URLSearchParams({ value }).toString()],
    ...[`'${value.replaceAll("'", "'\\''")}'`, `"${value.replace(/["\\$`]/g, "\\$&")}"`],
    ...["", "a", "ab"].map((before) => Buffer.from(`${before}${value}more`).toString("base64")),
  ];
  const styled = [...value].map((char) => `\u001b[1m${char}\u001b[0m`).join("");
  const line = (text: string) => `${stamp(1)} INFO a: ${text}\n`;
  // The line is cut in the middle of the secret.
  const before = (1 << 20) - Buffer.byteLength(line("long")) - 20;
  await write(
    "agent.log",
    [...ways.map(line), line(styled), line(`${"x".repeat(2890)}${planted.value}`), line(pem)].join(""),
  );
  await write("gateway.log", line("long").trimEnd());
  await inHost(host, `head -c ${before} /dev/zero | tr '\\0' x >>${folder}/gateway.log`);
  await write("gateway.log", `${planted.value}\n`);
  await write("errors.log", `${line("whole")}${line(planted.value).slice(0, -12)}`);
  for (const form of [[], ["-o", "json"]]) {
    const { code, stdout, stderr } = await logs("ada", "--since", "1h", ...form);
    expect(code, stderr).toBe(0);
    for (const [way, text] of Object.entries(found)) expect(stdout.includes(text), way).toBe(false);
    for (const part of pem.split("\n").slice(1, 3)) expect(stdout.includes(part)).toBe(false);
    expect(stdout.split("[secret]").length).toBeGreaterThan(ways.length);
    expect(stdout).toContain("longxxx");
    expect(stdout).not.toContain("\u001b");
  }
});

describe("followed log entries", () => {
  let child: ChildProcess | undefined;
  let shown = "";
  let told = "";

  function follow(...words: string[]): void {
    [shown, told] = ["", ""];
    child = spawn(process.execPath, [program, "agent", "logs", "-f", ...words], {
      env: { ...process.env, CLM_HOME: home, NO_COLOR: "1" },
    });
    child.stdout?.on("data", (chunk) => {
      shown += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      told += chunk;
    });
  }
  const until = (seen: () => boolean) =>
    new Promise<void>((done, failed) => {
      const timer = setInterval(() => {
        if (!seen()) return;
        clearInterval(timer);
        clearTimeout(late);
        done();
      }, 20);
      const late = setTimeout(() => {
        clearInterval(timer);
        failed(new Error(`not seen in:\n${shown}\n${told}`));
      }, 30_000);
    });
  const untilShown = (text: string) => until(() => shown.includes(text));
  const count = (text: string) => shown.split(text).length - 1;
  const ended = () => new Promise<number | null>((done) => child?.once("exit", (code) => done(code)));

  afterEach(async () => {
    child?.kill("SIGKILL");
    await untilNoReaders();
  });

  it("are shown as they come, through rotation, a restart and a lost connection, each once; Ctrl-C ends it", async () => {
    await write("agent.log", `${stamp(5)} INFO a: before\n`);
    follow("ada", "ben");
    await untilShown("a: before");
    const live = `${stamp(0)} WARNING a: live\n`;
    await write("agent.log", live);
    await write("errors.log", live);
    await untilShown("a: live");
    await inHost(host, `mv ${folder}/agent.log ${folder}/agent.log.1`);
    await write("agent.log", `${stamp(0)} INFO a: rotated\n`);
    await untilShown("a: rotated");
    await inHost(host, `systemctl restart ${unitOf("ada")}`);
    await untilShown(`Started ${unitOf("ada")}`);

    await inHost(host, "pkill -f '[s]shd: clm'");
    await until(() => told.includes("lost the connection to trial-1"));
    await write("agent.log", `${stamp(0)} INFO a: while nobody heard\n`);
    await write("mcp-stderr.log", "nor that\n");
    await until(() => told.includes("trial-1 is back"));
    await untilShown("a: while nobody heard");
    await untilShown("nor that");
    await write("agent.log", `${stamp(0)} INFO a: after that\n`);
    await untilShown("a: after that");
    for (const text of ["a: before", "a: live", "a: rotated", "a: while nobody heard", "nor that", "a: after that"])
      expect([text, count(text)]).toEqual([text, 1]);

    const end = ended();
    child?.kill("SIGINT");
    expect(await end).toBe(0);
    expect(told).not.toContain("error");
    await untilNoReaders();
  });

  it("leave nothing on the host when clm is killed", async () => {
    await write("agent.log", `${stamp(5)} INFO a: before\n`);
    // More than one: journal entries of the restart may come later.
    follow("ada", "--lines", "20");
    await untilShown("a: before");
    await inHost(host, "for n in $(seq 100); do pgrep -f '[t]ail -s' >/dev/null && exit 0; sleep 0.1; done; exit 1");
    child?.kill("SIGKILL");
    await untilNoReaders();
    expect(await readers()).toBe("");
  });
});
