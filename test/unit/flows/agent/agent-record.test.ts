import { expect, it } from "vitest";
import type { Proof } from "../../../../src/agents/probe/proof/proof.js";
import { Fault } from "../../../../src/errors.js";
import { providersBehind, recordProofs, withAnswers, withState } from "../../../../src/flows/agent/agent-record.js";
import { rotateKey } from "../../../../src/flows/agent/rotate-key.js";
import type { Session } from "../../../../src/flows/session.js";
import { hostNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { findAgent, recordAgent, secretOwner } from "../../../../src/state/agents.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const directory = scratchDirectories();
const digest = "d".repeat(64);
const proofs: Proof[] = [{ id: "chat", result: "ok", reason: "it answered" }];
const record = sampleAgent("ada", {
  provider: "main",
  fallbacks: [{ provider: "spare" }],
  onboarding: { state: "validate", stages: {} },
  rendered: { owned: {}, digest, at: "2026-01-01T00:00:00Z" },
});
const ready: AgentRecord = { ...record, onboarding: { state: "ready", stages: {} } };
const name = hostNameFrom("den");
const host = { name, address: "127.0.0.1", port: 1, labels: {}, added_at: "", agents: { ada: record } };
const provider = (updated_at: string) => ({
  type: "ollama",
  model: "m",
  fields: { endpoint: "http://127.0.0.1:9" },
  added_at: "",
  updated_at,
});

function failedBy(...ids: string[]): Partial<AgentRecord> {
  return { failed: { digest, at: "2026-01-02T00:00:00Z", proofs: ids, reason: "it failed" } };
}

/** A fleet of one agent, whose providers are `main` and `spare`. */
const withFleetLock = <T>(work: (session: Session) => Promise<T>) =>
  inSession({ configDir: directory() }, async (session) => {
    await session.hosts.update((fleet) => ({ ...fleet, hosts: [{ ...host, sudo: "passwordless" as const }] }));
    await update(session, { main: provider("1"), spare: provider("1") });
    return work(session);
  }).then(({ result }) => result);

const update = (session: Session, providers: Record<string, ReturnType<typeof provider>>) =>
  session.providers.update((all) => ({ ...all, providers }));
const agentIn = (session: Session) => findAgent(session.hosts.read(), "ada");

it.each<[string, Record<string, ReturnType<typeof provider>>, string]>([
  ["ready", { main: provider("1"), spare: provider("1"), other: provider("2") }, "ready"],
  ["to be validated when its provider changed since", { main: provider("2"), spare: provider("1") }, "validate"],
  ["to be validated when its fallback changed since", { main: provider("1"), spare: provider("2") }, "validate"],
  ["to be validated when a provider is gone", { main: provider("1") }, "validate"],
])("an agent that was proven is %s", async (_, later, expected) => {
  for (const before of [record, ready]) {
    const states = await withFleetLock(async (session) => {
      await recordAgent(session.hosts, { host: "den", name: "ada" }, () => before);
      const agent = agentIn(session);
      const providers = providersBehind(session, agent.record);
      await update(session, later);
      const now = await recordProofs(session, agent, { digest, providers }, proofs);
      return [now.onboarding.state, agentIn(session).record.onboarding.state];
    });
    expect(states).toEqual([expected, expected]);
  }
});

const outcome = (...results: [Proof["id"], Proof["result"]][]): Proof[] =>
  results.map(([id, result]) => ({ id, result, reason: `${id} ${result}` }));

it.each<[string, Partial<AgentRecord>, Proof[], string, string[] | undefined]>([
  ["a model that fails leaves it ready", {}, outcome(["chat", "fail"]), "ready", ["chat"]],
  ["so do channels and servers", {}, outcome(["channels", "fail"], ["mcp", "fail"]), "ready", ["channels", "mcp"]],
  [
    "an open API sets it back",
    {},
    outcome(["auth.no-key", "fail"], ["chat", "fail"]),
    "validate",
    ["auth.no-key", "chat"],
  ],
  [
    "so does a model that was never asked with this",
    { proven: undefined },
    outcome(["chat", "fail"]),
    "validate",
    ["chat"],
  ],
  ["an answer makes up for one that failed", failedBy("chat"), outcome(["chat", "ok"]), "ready", undefined],
  ["that the model was not asked does not", failedBy("chat"), outcome(["chat", "skipped"]), "ready", ["chat"]],
  ["a channel that connects makes up for it", failedBy("channels"), outcome(["chat", "skipped"]), "ready", undefined],
])("proven again: %s", async (_, more, again, state, failed) => {
  const { proven = undefined, ...rest } = { proven: { digest, at: "2026-01-01T00:00:00Z", chat: true }, ...more };
  const before: AgentRecord = { ...ready, ...rest, ...(proven && { proven }) };
  const now = await withFleetLock(async (session) => {
    await recordAgent(session.hosts, { host: "den", name: "ada" }, () => before);
    const agent = agentIn(session);
    await recordProofs(session, agent, { digest, providers: providersBehind(session, agent.record) }, again);
    return agentIn(session).record;
  });
  expect([now.onboarding.state, now.failed?.proofs]).toEqual([state, failed]);
});

it("answers do not make an agent ready that was set back meanwhile", () => {
  expect(withAnswers(withState(ready, "validate"), ready).onboarding.state).toBe("validate");
  expect(withAnswers(ready, { ...ready, model: "n" })).toEqual({ ...ready, model: "n" });
});

it.each<[string, Record<string, ReturnType<typeof provider>>, string]>([
  ["a provider is gone", { main: provider("1") }, "not-found"],
  ["its host is not there", { main: provider("1"), spare: provider("1") }, "unreachable"],
])("no key rotation starts when %s", async (_, providers, expected) => {
  const { fault, names } = await withFleetLock(async (session) => {
    const instance = secretOwner(agentIn(session));
    await session.secrets.set(instance, "HERMES_API_SERVER_KEY", new Secret("a".repeat(64)), "a key");
    await update(session, providers);
    const error = await rotateKey(session, "ada").catch((thrown: unknown) => thrown);
    return { fault: error, names: session.secrets.names(instance) };
  });
  expect(fault).toBeInstanceOf(Fault);
  expect([(fault as Fault).fault, (fault as Fault).next]).toEqual([
    expected,
    expect.not.arrayContaining(["clm agent rotate-key ada"]),
  ]);
  expect(names).toEqual(["HERMES_API_SERVER_KEY"]);
});

it("an interrupted key rotation is completed by the same command", async () => {
  const error = await withFleetLock(async (session) => {
    const instance = secretOwner(agentIn(session));
    await session.secrets.set(instance, "HERMES_API_SERVER_KEY_NEXT", new Secret("b".repeat(64)), "a key");
    await update(session, { main: provider("1") });
    return rotateKey(session, "ada").catch((thrown: unknown) => thrown);
  });
  expect((error as Fault).next).toContain("clm agent rotate-key ada");
});
