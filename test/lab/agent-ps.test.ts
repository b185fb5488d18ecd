import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSecrets } from "../../src/state/secrets.js";
import { agentsIn, misbehave, pidOf, unitOf } from "./agents.js";
import { clm, inHost, program } from "./clm.js";

const lab = "sight";
const numbers = Array.from({ length: 10 }, (_, at) => at + 1);
const hostOf = (number: number) => `${lab}-${number}`;
/** Two on each host: `ada-3` and `bob-3` live on `sight-3`. */
const [ada, bob] = [(number: number) => `ada-${number}`, (number: number) => `bob-${number}`];

let home: string;

interface Row {
  name: string;
  host: string;
  state: string;
  reason: string | null;
  well: boolean;
  restarts: number | null;
  drift: string | null;
  port: number;
  last_seen?: { state: string };
}

async function ps(...words: string[]): Promise<{ code: number | null; rows: Map<string, Row> }> {
  const { code, stdout, stderr } = await clm(["ps", ...words, "-o", "json"], { home });
  expect(stdout, stderr).not.toBe("");
  return { code, rows: new Map((JSON.parse(stdout) as Row[]).map((row) => [row.name, row])) };
}

const row = async (name: string): Promise<Row | undefined> => (await ps(name)).rows.get(name);

/** Runs ps until the row is so: changes on a host take a while. */
async function until(name: string, isSo: (row: Row) => boolean): Promise<Row> {
  for (let look = 0; look < 40; look++) {
    const seen = await row(name);
    if (seen && isSo(seen)) return seen;
  }
  throw new Error(`${name} never got there: ${JSON.stringify(await row(name))}`);
}

/** Whether the agent accepts its own key, asked without clm. */
async function answersItsKey({ name, host, port }: Row): Promise<boolean> {
  const key = openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal();
  const url = `http://127.0.0.1:${port}/v1/models`;
  const status = await inHost(
    host,
    `curl -s -m 5 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${key}' ${url} || true`,
  );
  return status === "200";
}

/** The number of requests to the echo provider, on each host that is up. */
const completions = (hosts: number[]): Promise<number[]> =>
  Promise.all(
    hosts.map(async (number) =>
      Number(await inHost(hostOf(number), "journalctl -o cat -u clm-lab-echo | grep -c '\"POST ' || true")),
    ),
  );
const lasting = numbers.filter((number) => number !== 4);

let before: number[];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "clm-sight-"));
  await clm(["lab", "down", "--name", lab], { home });
  const { must, addEcho } = agentsIn(home);
  await must("lab", "up", "--name", lab, "--hosts", String(numbers.length));
  await addEcho();
  const install = (number: number, name: string) =>
    must("agent", "install", "--type", "hermes", "--host", hostOf(number), "--name", name);
  // One after the other on each host: both start with the first free port.
  await Promise.all(
    numbers.map(async (number) => {
      await install(number, ada(number));
      await install(number, bob(number));
    }),
  );
  await must("agent", "configure", "--all", "--provider", "echo");
}, 240_000);

afterAll(async () => {
  await clm(["lab", "down", "--name", lab], { home });
  await rm(home, { recursive: true, force: true });
});

describe("ps over ten hosts and twenty agents", () => {
  it("shows all running, without drift", async () => {
    before = await completions(lasting);
    expect(Math.min(...before)).toBeGreaterThan(0);
    const { code, rows } = await ps();
    expect(rows.size).toBe(20);
    expect([...rows.values()].map(({ state, reason, drift }) => [state, reason, drift])).toEqual(
      Array(20).fill(["running", null, "no"]),
    );
    expect(code).toBe(0);
    const table = await clm(["ps"], { home });
    expect(table.stdout).toMatch(/^AGENT +HOST +STATE +UP +RESTARTS +VERSION/);
    expect(table.stderr).toBe("");
  });

  it("restart --all restarts the reachable ones, and names the command for the others", {
    timeout: 180_000,
  }, async () => {
    const dead = [4, 7];
    const pids = () =>
      Promise.all(numbers.flatMap((number) => [ada(number), bob(number)].map((name) => pidOf(hostOf(number), name))));
    const ssh = (verb: string) =>
      Promise.all(dead.map((number) => inHost(hostOf(number), `systemctl ${verb} ssh.service`)));
    const first = await pids();
    await ssh("stop");
    const { code, stderr } = await clm(["agent", "restart", "--all"], { home });
    expect(stderr).toContain("16 of 20 done, 4 failed");
    expect(code).toBe(10);
    const left = dead.flatMap((number) => [ada(number), bob(number)].map((name) => `${hostOf(number)}/${name}`));
    for (const word of left) expect(stderr).toContain(`  ${word}: cannot reach ${word.split("/")[0]}`);
    const again = /^again: clm (.*)$/m.exec(stderr)?.[1]?.split(" ") ?? [];
    expect([...again].sort()).toEqual(["agent", "restart", ...left].sort());
    await ssh("start");
    expect(await clm(again, { home })).toMatchObject({ code: 0, stderr: expect.stringContaining("4 of 4 done") });
    const now = await pids();
    expect(now.filter((pid, at) => pid === first[at])).toEqual([]);
  });

  it("shows a killed agent as down, and running again later", async () => {
    await inHost(hostOf(1), `kill -9 ${await pidOf(hostOf(1), ada(1))}`);
    const down = await row(ada(1));
    expect(down).toMatchObject({ state: "failed", well: false });
    expect(down?.reason).toMatch(/^it ended and is being started again: hermes-ada-1.service is activating/);
    const back = await until(ada(1), ({ state }) => state !== "failed" && state !== "starting");
    expect(back).toMatchObject({ state: "degraded", restarts: 1, reason: expect.stringContaining("restarted once") });
    expect(await row(bob(1))).toMatchObject({ state: "running" });
  });

  it("names each kind of problem with its reason", async () => {
    const onHome = (number: number, script: string) =>
      inHost(hostOf(number), script.replaceAll("$h", `/home/${ada(number)}`));
    await Promise.all([
      inHost(hostOf(2), `systemctl stop ${unitOf(ada(2))}`),
      clm(["agent", "stop", bob(2)], { home }),
      // A file system of its own, which is then filled.
      onHome(
        3,
        `systemctl stop ${unitOf(ada(3))} && cp -a $h /run/kept && mount -t tmpfs -o size=8m,mode=0700 tmpfs $h && cp -aT /run/kept $h &&
systemctl start ${unitOf(ada(3))}
for n in $(seq 100); do grep -q '"running"' $h/.hermes/gateway_state.json && break; sleep 0.1; done
dd if=/dev/zero of=$h/filler bs=64k 2>/dev/null; [ "$(df --output=avail $h | tail -n 1)" -lt 100 ]`,
      ),
      inHost(hostOf(4), "systemd-run --quiet --on-active=1 systemctl poweroff --force"),
      // The first one gets the port.
      inHost(
        hostOf(5),
        `systemctl stop ${unitOf(ada(5))}
port=$(sed -n 's/^API_SERVER_PORT=//p' /home/${ada(5)}/.hermes/.env | tr -d "'\\"")
systemd-run --quiet --unit thief python3 -m http.server --bind 127.0.0.1 $port
for n in $(seq 100); do curl -s -o /dev/null 127.0.0.1:$port && break; sleep 0.1; done
systemctl start ${unitOf(ada(5))}`,
      ),
      onHome(6, "echo EXTRA_THING=1 >>$h/.hermes/.env"),
      misbehave(hostOf(7), ada(7), "crash-loop"),
      misbehave(hostOf(8), ada(8), "gate-open"),
      inHost(hostOf(9), "systemctl stop clm-lab-echo.socket clm-lab-echo.service"),
      inHost(hostOf(10), `kill -STOP $(systemctl show -p MainPID --value ${unitOf(ada(10))})`),
      onHome(
        10,
        `sed -i "s/^API_SERVER_KEY=.*/API_SERVER_KEY=$(printf '%064d' 7)/" /home/${bob(10)}/.hermes/.env && systemctl restart ${unitOf(bob(10))}`,
      ),
    ]);
    await Promise.all([
      until(ada(7), ({ restarts }) => (restarts ?? 0) > 1),
      until(ada(8), ({ state }) => state === "exposed"),
      until(bob(10), ({ state }) => state !== "starting"),
    ]);

    const { code, rows } = await ps();
    expect(code).toBe(1);
    const told = (name: string) => {
      const { state, reason } = rows.get(name) ?? {};
      return `${state}: ${reason}`;
    };
    expect(told(ada(2))).toBe("stopped: stopped, though it was not clm that stopped it; clm agent start ada-2");
    expect(rows.get(ada(2))?.well).toBe(false);
    expect(rows.get(bob(2))).toMatchObject({ state: "stopped", well: true });
    expect(told(ada(3))).toContain("degraded: its disk is full");
    expect(told(ada(4))).toMatch(/^unreachable: (cannot reach|lost the connection to) sight-4/);
    expect(rows.get(bob(4))).toMatchObject({ state: "unreachable", last_seen: { state: "running" } });
    expect(told(ada(5))).toMatch(/^failed: another process has port \d+: pid \d+, user root, python3/);
    expect(told(ada(6))).toBe("degraded: not as configured: file /home/ada-6/.hermes/.env");
    expect(rows.get(ada(6))?.drift).toBe("yes");
    expect(told(ada(7))).toMatch(/^(failed|degraded): .*(again and again|restarted \d+ times|is failed)/);
    expect(told(ada(8))).toMatch(/^exposed: the API is open: /);
    for (const name of [ada(9), bob(9)])
      expect(told(name)).toBe("degraded: its provider cannot be reached from the host: nothing answers there");
    expect(told(ada(10))).toBe("failed: /health did not respond");
    expect(told(bob(10))).toMatch(/^failed: it refuses its own key: /);
    const others = [bob(1), bob(3), bob(5), bob(6), bob(7), bob(8)];
    expect(others.map(told)).toEqual(others.map(() => "running: null"));

    // The real state, asked without clm.
    const answering = ["running", "degraded", "exposed"];
    const steady = [...rows.values()].filter(({ name, host }) => host !== hostOf(4) && name !== ada(7));
    const truth = await Promise.all(steady.map(async (each) => [each.name, await answersItsKey(each)]));
    expect(truth).toEqual(steady.map(({ name, state }) => [name, answering.includes(state)]));
  });

  it("one agent in full names the next command", async () => {
    const { code, stdout } = await clm(["agent", "status", ada(5)], { home });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^State: +failed$/m);
    expect(stdout).toMatch(/^Port: +\d+, held by python3, pid \d+, user root$/m);
    expect(stdout).toMatch(/^Next: +clm agent doctor ada-5$/m);
    const drifted = await clm(["agent", "status", ada(6), "-o", "json"], { home });
    expect(JSON.parse(drifted.stdout)).toMatchObject({
      name: ada(6),
      state: "degraded",
      drift: "yes",
      drift_changes: [{ what: "file /home/ada-6/.hermes/.env" }, { differences: [expect.stringMatching(/^restart/)] }],
    });
    const away = await clm(["agent", "status", ada(4)], { home });
    expect(away.stdout).toMatch(/^Seen: +last seen running \d+[sm] ago/m);
  });

  it("shows a failed and then stopped agent as stopped, as systemd does", async () => {
    const unit = unitOf(bob(1));
    const dropIn = `/run/systemd/system/${unit}.d/once.conf`;
    await inHost(
      hostOf(1),
      `mkdir -p ${dropIn.replace("/once.conf", "")} && printf '[Service]\\nRestart=no\\n' >${dropIn} && systemctl daemon-reload
systemctl disable --quiet ${unit} && systemctl kill --signal KILL ${unit}
for n in $(seq 100); do systemctl is-failed --quiet ${unit} && break; sleep 0.1; done
rm ${dropIn} && systemctl daemon-reload`,
    );
    expect(await row(bob(1))).toMatchObject({ state: "failed", well: false });
    const { stdout } = await clm(["agent", "stop", bob(1), "-o", "json"], { home });
    expect(JSON.parse(stdout).changes).toEqual([{ what: `unit ${unit}`, differences: ["failed -> stopped"] }]);
    expect(await row(bob(1))).toMatchObject({ state: "stopped", well: true, reason: null });
    expect(await inHost(hostOf(1), `systemctl is-failed ${unit} || true`)).toContain("inactive");
  });

  it("asks no model", async () => {
    const now = await completions(lasting);
    expect(now).toEqual(before);
  });
});

/** A program whose output is waited for. */
function running(file: string, args: string[]) {
  const child = spawn(file, args, { env: { ...process.env, CLM_HOME: home, TERM: "xterm", LANG: "C.UTF-8" } });
  let output = "";
  let news = () => {};
  child.stdout.on("data", (chunk) => {
    output += chunk;
    news();
  });
  const ended = new Promise<number | null>((done) => child.on("close", done));
  return {
    child,
    ended,
    output: () => output,
    /** Waits until it has printed this, after the previous match. */
    async shows(what: RegExp, from = 0): Promise<number> {
      for (;;) {
        const found = what.exec(output.slice(from));
        if (found) return from + found.index + found[0].length;
        await new Promise<void>((done) => {
          news = done;
        });
      }
    },
  };
}

const killing = async () => inHost(hostOf(6), `kill -9 ${await pidOf(hostOf(6), bob(6))}`);

describe("ps --watch", () => {
  it("draws on a terminal, shows a change, and restores the screen", async () => {
    const line = `stty cols 80 rows 12; exec '${process.execPath}' '${program}' ps --watch --every 1 --host ${hostOf(6)}`;
    const { child, ended, shows, output } = running("script", ["-qefc", line, "/dev/null"]);
    const first = await shows(/1 running, 1 degraded|1 degraded, 1 running/);
    await killing();
    const failed = await shows(/✖ failed/, first);
    await shows(/was failed/, failed);
    child.stdin.write("\u0003");
    expect(await ended).toBe(0);
    expect(output().indexOf("\u001b[?1049h")).toBeLessThan(first);
    expect(output().trimEnd().endsWith("\u001b[?1049l")).toBe(true);
    expect(output()).not.toContain("stopping safely");
  });

  it("prints changes as lines, and as one object per line", async () => {
    const [text, json] = [[], ["-o", "json"]].map((more) =>
      running(process.execPath, [program, "ps", "--watch", "--every", "1", "--host", hostOf(6), ...more]),
    );
    if (!text || !json) throw new Error("both were begun");
    await Promise.all([text.shows(/sight-6\/bob-6 \w+.*\n/), json.shows(/"bob-6".*\n/)]);
    await killing();
    await Promise.all([
      text.shows(/sight-6\/bob-6 (running|degraded) -> failed: it e.*\n/),
      json.shows(/"name":"bob-6".*"state":"failed".*\n/),
    ]);
    for (const { child } of [text, json]) child.kill("SIGINT");
    expect(await Promise.all([text.ended, json.ended])).toEqual([0, 0]);
    const lines = json
      .output()
      .trimEnd()
      .split("\n")
      .map((each) => JSON.parse(each));
    expect(
      lines
        .slice(0, 2)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([ada(6), bob(6)]);
    expect(lines.every(({ name }) => name === bob(6) || name === ada(6))).toBe(true);
    // The other one did not change.
    expect(lines.filter(({ name }) => name === ada(6))).toHaveLength(1);
  });
});
