import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Fault } from "../../../../src/errors.js";
import type { AgentStatus } from "../../../../src/flows/fleet/agent-status.js";
import { probeAgents, probeAgentsOn, quickProbeOn } from "../../../../src/flows/fleet/probe-agents.js";
import { watchAgents } from "../../../../src/flows/fleet/watch.js";
import type { Session } from "../../../../src/flows/session.js";
import { agentNameFrom } from "../../../../src/names.js";
import type { Process, Shell } from "../../../../src/remote/process.js";
import { Secret } from "../../../../src/secret.js";
import type { Agent } from "../../../../src/state/agents.js";
import type { Host } from "../../../../src/state/hosts.js";
import { readLastStatuses } from "../../../../src/state/last-status.js";
import { healthyLines } from "../../agents/probe/healthy-lines.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { inSession } from "../in-session.js";

let configDir: string;
beforeEach(() => {
  configDir = mkdtempSync(join(tmpdir(), "clm-look-"));
});
afterEach(() => rmSync(configDir, { recursive: true }));

const host = { name: "wolf-i" } as Host;
const agent = (name: string, more = {}): Agent => ({
  name: agentNameFrom(name),
  ref: name,
  host,
  record: sampleAgent(name, { onboarding: { state: "ready", stages: {} }, provider: "echo", ...more }),
});
const [ada, bob] = [agent("ada"), agent("bob")];

/** The output of status.sh for a healthy agent, with these lines replaced by key. */
function well(at: number, name: string, ...lines: string[]): string {
  const keyOf = (line: string) => line.slice(0, line.indexOf("="));
  const own = new Set(lines.map(keyOf));
  const all = healthyLines("2026.7.1").filter((line) => !own.has(keyOf(line)));
  return [...all, ...lines, "end=yes"].map((line) => `${at} ${line.replaceAll("ada", name)}\n`).join("");
}

/** What a host prints, of the script it is given; `hangs` does not end by itself. */
type Answer = (script: string) => { text: string; hangs?: boolean } | Fault;

/** A host with the given answers. Its shell is one process that gets scripts one after the other. */
function answering(answer: Answer): Shell {
  return {
    as: () => answering(answer),
    async spawn() {
      const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
      let [nonce, given] = ["", ""];
      let ended: (exit: { code: number | null }) => void = () => {};
      const done = new Promise<{ code: number | null }>((resolve) => {
        ended = resolve;
      });
      const end = () => {
        for (const stream of [stdout, stderr]) stream.end();
        ended({ code: null });
      };
      stdin.on("data", (chunk: Buffer) => {
        given += chunk;
        nonce ||= given.slice(0, given.indexOf("\n"));
        if (!/^say end yes$/m.test(given.slice(given.lastIndexOf("exec </dev/null")))) return;
        const told = answer(given.slice(nonce.length));
        given = "";
        if (told instanceof Fault) return end();
        stdout.write(told.text);
        if (told.hangs) return;
        stderr.write(`${nonce}\n`);
        stdout.write(`${nonce} 0\n`);
      });
      return { stdin, stdout, stderr, done, kill: end } as unknown as Process;
    },
  };
}

/** A session with a host of given answers, and a clock that advances by a second with every read. */
function withHost<T>(answer: Answer, work: (session: Session, stop: () => void) => Promise<T>) {
  let time = Date.parse("2026-01-01T00:00:00Z");
  const stopped = new AbortController();
  const now = () => {
    time += 1000;
    return new Date(time);
  };
  return inSession({ configDir, now, signal: stopped.signal }, async (session) => {
    const connection = { as: () => answering(answer) };
    const connect = async () => {
      const told = answer("");
      if (told instanceof Fault) throw told;
      return connection;
    };
    const hosts = { read: () => ({ hosts: [{ ...host, agents: { ada: ada.record, bob: bob.record } }] }) };
    return work({ ...session, pool: { connect }, hosts } as unknown as Session, () => stopped.abort());
  });
}

const told = (found: AgentStatus[]) => found.map(({ agent, state, reason }) => [agent.name, state, reason]);
const noKey = "clm has no key for it; clm agent rotate-key";

it("a slow agent is lost alone: the answers of the others are used", async () => {
  const { result } = await withHost(
    () => ({ text: well(1, "bob"), hangs: true }),
    (session) => probeAgentsOn(session, [ada, bob], { drift: false, timeout: 100 }),
  );
  expect(told(result)).toEqual([
    ["ada", "unreachable", "wolf-i did not report its status within 0.1 s: it reported other agents"],
    ["bob", "failed", `${noKey} bob`],
  ]);
});

it("a host without any answer in time is lost as a whole", async () => {
  const { result } = await withHost(
    () => ({ text: "0 uid=5\n", hangs: true }),
    (session) => probeAgentsOn(session, [ada, bob], { drift: false, timeout: 100 }),
  );
  expect(result.map(({ state, fault }) => [state, fault?.fault])).toEqual(
    Array(2).fill(["unreachable", "remote-timeout"]),
  );
});

it("an agent's output is stored without secrets", async () => {
  const secret = `${"s3cret-".repeat(23)}end`;
  await withHost(
    () => ({ text: well(0, "ada", `version=Hermes ${secret}`) }),
    (session) => {
      session.ui.hide(new Secret(secret));
      return probeAgents(session, [ada], { drift: false, parallel: 1 });
    },
  );
  expect(readLastStatuses(configDir)["wolf-i:hermes:ada"]?.version).toMatch(/^Hermes /);
  // Nor a part of it, where it was cut.
  expect(readFileSync(join(configDir, "sightings.json"), "utf8")).not.toContain("s3cret");
});

it("a partial status leaves out unknown agents, and has the time of the others' proofs", async () => {
  const { result } = await withHost(
    (script) => ({ text: well(script.includes("key_0") ? 1 : 0, "bob") }),
    async (session) => {
      const before = await probeAgentsOn(session, [ada, bob], { drift: false });
      return { before, after: await quickProbeOn(session, before) };
    },
  );
  const [before, after] = [result.before[1], result.after[1]];
  expect(result.before[0]?.observation).toBeUndefined();
  expect(result.after[0]).toBeUndefined();
  expect(after?.state).toBe(before?.state);
  expect(after?.provenAt).toBe(before?.at);
  expect(after && before && after.at > before.at).toBe(true);
});

it("a watch uses its own observations, and stores them", async () => {
  let down = false;
  const seen: AgentStatus[] = [];
  await withHost(
    () => (down ? new Fault("unreachable", "wolf-i is away") : { text: well(0, "ada") }),
    (session, stop) =>
      watchAgents(session, {
        choose: () => [ada],
        every: 1,
        drift: false,
        onRound: () => {},
        onStatuses: ([found]) => {
          if (!found) return;
          seen.push(found);
          if (found.observation && seen.length === 3) down = true;
          if (!found.observation) stop();
        },
      }),
  );
  const [last, lost] = seen.slice(-2);
  expect([last?.state, lost?.state]).toEqual(["failed", "unreachable"]);
  expect(lost?.last).toMatchObject({ state: "failed", at: last?.at });
  expect(readLastStatuses(configDir)["wolf-i:hermes:ada"]?.at).toBe(last?.at);
});
