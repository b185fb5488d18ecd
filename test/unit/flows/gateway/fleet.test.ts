import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { servedFleet } from "../../../../src/flows/gateway/fleet.js";
import type { Session } from "../../../../src/flows/session.js";
import { hostNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import type { Host } from "../../../../src/state/hosts.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const directory = scratchDirectories();
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const instance = { host: "wolf-i", type: "hermes", agent: "ada" };
const host = (more: Partial<Host> = {}, record: Partial<AgentRecord> = {}): Host => ({
  name: hostNameFrom("wolf-i"),
  address: "192.0.2.1",
  labels: {},
  added_at: "2026-01-01T00:00:00Z",
  sudo: "passwordless",
  agents: { ada: sampleAgent("ada", record) },
  ...more,
});
const put = (session: Session, one: Host) => session.hosts.update(() => ({ hosts: [one] }));
const key = (letter: string) => new Secret(letter.repeat(64));
/** Long enough that the files are read again. */
const later = () => vi.setSystemTime(Date.now() + 1000);

describe("the mark of an agent", () => {
  const changes: [what: string, change: (session: Session) => Promise<unknown>, isOther: boolean][] = [
    ["its host's address", (session) => put(session, host({ address: "192.0.2.2" })), true],
    ["its host's port", (session) => put(session, host({ port: 2222 })), true],
    ["who logs in there", (session) => put(session, host({ user: "root" })), true],
    ["its port", (session) => put(session, host({}, { port: 8643 })), true],
    ["its unit", (session) => put(session, host({}, { unit: "hermes-ada-2.service" })), true],
    ["its proxy", (session) => put(session, host({}, { proxy: { provider: "nous", port: 8700 } })), true],
    ["its proxy's provider", (session) => put(session, host({}, { proxy: { provider: "xai", port: 8700 } })), true],
    ["its key", ({ secrets }) => secrets.set(instance, "HERMES_API_SERVER_KEY", key("b"), ""), true],
    ["a label of its host", (session) => put(session, host({ labels: { rack: "7" } })), false],
    [
      "a key that is to be its next",
      ({ secrets }) => secrets.set(instance, "HERMES_API_SERVER_KEY_NEXT", key("b"), ""),
      false,
    ],
  ];
  it.each(changes)("with %s", async (_what, change, isOther) => {
    await inSession({ configDir: directory(), yes: true }, async (session) => {
      await put(session, host());
      await session.secrets.set(instance, "HERMES_API_SERVER_KEY", key("a"), "");
      const fleet = await servedFleet(session);
      const before = (await fleet()).find("ada")?.agent.mark;
      expect(before).toMatch(/^\S{40,}$/);
      await change(session);
      later();
      expect((await fleet()).find("ada")?.agent.mark !== before).toBe(isOther);
    });
  });
});

it("keeps the last state while a file cannot be read, reports it once, and retries", async () => {
  const { said } = await inSession({ configDir: directory(), yes: true }, async (session) => {
    const { path } = session.hosts;
    await put(session, host());
    const fleet = await servedFleet(session);
    const good = readFileSync(path);
    const words = async () => {
      later();
      return (await fleet()).agents.map(({ word }) => word);
    };
    writeFileSync(path, "{".padEnd(good.length));
    const at = new Date(1_800_000_000_000);
    utimesSync(path, at, at);
    expect([await words(), await words()]).toEqual([["ada"], ["ada"]]);
    // The same size and time, as when it was unreadable for a reason other than its content.
    writeFileSync(path, good.toString().replace('"ada"', '"eve"'));
    utimesSync(path, at, at);
    expect(await words()).toEqual(["eve"]);
  });
  expect(said().match(/keeps serving the agents it knew/g)).toHaveLength(1);
});

it("leaves out an agent of unknown type, with a warning", async () => {
  const { said } = await inSession({ configDir: directory(), yes: true }, async (session) => {
    const agents = { ada: sampleAgent("ada"), odd: sampleAgent("odd", { type: "gone" }) };
    await put(session, { ...host(), agents });
    const fleet = await servedFleet(session);
    expect((await fleet()).agents.map(({ word }) => word)).toEqual(["ada"]);
  });
  expect(said()).toContain("the gateway does not serve wolf-i/odd");
});
