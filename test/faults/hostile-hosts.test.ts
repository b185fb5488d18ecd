import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newPrivateKey } from "../../src/flows/keypair.js";
import { pin } from "../../src/remote/host-keys/pins.js";
import { clm, type Result } from "../lab/clm.js";
import { labFixture, withEcho } from "../lab/fixture.js";
import { newKey, Serving } from "../lab/serving.js";
import { type HostileHost, type Stage, stageNamed, stages, startHostileHost } from "./hostile-host.js";

/** A fleet of one good host with an agent on it, and hosts that hang or flood at every stage of a connection. */

const good = "trial-1";
const hosts = new Map<Stage, { name: string; host: HostileHost }>();

const { home } = labFixture({ agents: [{ host: good, name: "ada", configure: withEcho }] });
beforeAll(async () => {
  await Promise.all(
    stages.map(async (stage, at) => hosts.set(stage, { name: `hostile-${at}`, host: await startHostileHost(stage) })),
  );
  const path = join(home, "hosts.json");
  const fleet = JSON.parse(readFileSync(path, "utf8"));
  const model = fleet.hosts.find(({ name }: { name: string }) => name === good);
  const identity = join(home, "hostile-key");
  await writeFile(identity, newPrivateKey("test"), { mode: 0o600 });
  for (const [stage, { name, host }] of hosts) {
    const record = Object.values(model.agents)[0];
    const { address, port } = host;
    fleet.hosts.push({
      ...model,
      name,
      address,
      port,
      identity,
      user: "somebody",
      agents: { [agentOn(stage)]: record },
    });
    await pin(home, name, host.key);
  }
  await writeFile(path, JSON.stringify(fleet));
  // Every agent needs a key, or its host would not be asked.
  const secretsPath = join(home, "secrets.json");
  const secrets = JSON.parse(readFileSync(secretsPath, "utf8"));
  const own = Object.keys(secrets).find((key) => key.endsWith(":ada")) ?? "";
  for (const [stage, { name }] of hosts) secrets[`${name}:hermes:${agentOn(stage)}`] = secrets[own];
  await writeFile(secretsPath, JSON.stringify(secrets), { mode: 0o600 });
});

afterAll(async () => {
  for (const { host } of hosts.values()) await host.close();
});

const agentOn = (stage: Stage): string => `ada-${stages.indexOf(stage)}`;
const hostOf = (stage: Stage): string => hosts.get(stage)?.name ?? "";

interface Timed extends Result {
  seconds: number;
  /** Peak memory, in MB. */
  memory: number;
}

/** Runs clm and kills it after `most` seconds, so that a hang fails the test. */
async function timed(args: string[], most: number, during: (child: ChildProcess) => void = () => {}): Promise<Timed> {
  const begun = performance.now();
  let memory = 0;
  let timer: NodeJS.Timeout | undefined;
  let watch: NodeJS.Timeout | undefined;
  const result = await clm(args, {
    home,
    during: (child) => {
      timer = setTimeout(() => child.kill("SIGKILL"), most * 1000);
      watch = setInterval(() => {
        const status = statusOf(child.pid);
        memory = Math.max(memory, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      }, 100);
      during(child);
    },
  });
  clearTimeout(timer);
  clearInterval(watch);
  return { ...result, seconds: (performance.now() - begun) / 1000, memory };
}

function statusOf(pid = 0): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

const told: string[] = [];
const tell = (what: string, { seconds, memory }: Timed) =>
  told.push(`${seconds.toFixed(1)} s ${Math.round(memory)} MB  ${what}`);
afterAll(() => console.log(told.join("\n")));

describe("ps", () => {
  it("shows the good host although four others hang at different stages", async () => {
    const hanging = [
      "accepts the connection and says nothing",
      "never judges a login",
      "never answers an exec request",
      "lets sudo answer and then sends nothing",
    ].map(stageNamed);
    const result = await timed(["ps", "ada", ...hanging.map(agentOn), "-o", "json"], 60);
    tell("ps over 5 hosts, 4 of which hang", result);
    expect(result, result.stderr).toMatchObject({ code: 1 });
    expect(result.seconds).toBeLessThan(30);
    const rows: { name: string; state: string; reason: string | null }[] = JSON.parse(result.stdout);
    const states = Object.fromEntries(rows.map(({ name, state }) => [name, state]));
    expect(states).toEqual({
      ada: "running",
      ...Object.fromEntries(hanging.map((stage) => [agentOn(stage), "unreachable"])),
    });
    for (const { name, reason } of rows) if (name !== "ada") expect(reason).toMatch(/did not|cannot reach/);
  });
});

const commands: Record<string, (stage: Stage) => string[]> = {
  ps: (stage) => ["ps", agentOn(stage)],
  "host exec": (stage) => ["host", "exec", hostOf(stage), "--timeout", "3", "--", "true"],
  "host exec --sudo": (stage) => ["host", "exec", hostOf(stage), "--sudo", "--timeout", "3", "--", "true"],
  chat: (stage) => ["chat", agentOn(stage), "--once", "hello"],
};

describe.each(Object.entries(commands))("%s", (name, args) => {
  const bounded = async (stage: Stage) => {
    const { signal, memory, ...result } = await timed(args(stage), 90);
    tell(`${name}: ${stage.name}`, { ...result, signal, memory });
    return { stage: stage.name, killed: signal !== null, fills: memory > 500 };
  };
  const fine = ({ name: stage }: Stage) => ({ stage, killed: false, fills: false });

  // A hanging host does not slow the others.
  it("hangs with no host", async () => {
    const silent = stages.filter(({ floods }) => !floods);
    expect(await Promise.all(silent.map(bounded))).toEqual(silent.map(fine));
  });

  it.each(stages.filter(({ floods }) => floods))(
    "is hung by no host that $name, and keeps its memory",
    async (stage) => {
      expect(await bounded(stage)).toEqual(fine(stage));
    },
  );
});

describe.each(stages)("a host that $name", (stage) => {
  it.each(["SIGTERM", "SIGINT"] as const)("lets clm end after one %s", async (signal) => {
    const host = hosts.get(stage)?.host;
    const before = host?.connections() ?? 0;
    let sent = 0;
    const result = await timed(["host", "exec", hostOf(stage), "--sudo", "--", "sleep", "100"], 30, async (child) => {
      while (host && host.connections() === before) await sleep(20);
      await sleep(700);
      if (child.exitCode !== null) return;
      sent = performance.now();
      child.kill(signal);
    });
    // A host that floods before its banner is dropped earlier.
    const seconds = sent === 0 ? 0 : (performance.now() - sent) / 1000;
    tell(`${signal}: ${stage.name}`, { ...result, seconds });
    expect(result.signal, result.stderr).toBeNull();
    expect(seconds).toBeLessThan(5);
  });
});

describe("a gateway in front of all of them", () => {
  it("refuses requests to hostile hosts, answers for the good one, and stops when asked", async () => {
    const serving = new Serving(home);
    try {
      const { url } = await serving.until("ready");
      const key = await newKey(home, "--name", "hostile", "--agents", "*", "--role", "chat");
      const ask = async (model: string) => {
        const begun = performance.now();
        const { status } = await fetch(`${url}/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
          signal: AbortSignal.timeout(60_000),
        });
        return { model, status, seconds: (performance.now() - begun) / 1000 };
      };
      const answers = await Promise.all(["ada", ...stages.map(agentOn)].map(ask));
      for (const { model, seconds } of answers) told.push(`${seconds.toFixed(1)} s  gateway request to ${model}`);
      expect(answers.map(({ model, status }) => [model, status])).toEqual([
        ["ada", 200],
        ...stages.map((stage) => [agentOn(stage), 503]),
      ]);
    } finally {
      expect(await serving.stop("SIGTERM")).toMatchObject({ code: 0 });
    }
  });
});
