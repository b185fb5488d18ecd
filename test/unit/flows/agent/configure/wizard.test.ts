import { describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { answersFor } from "../../../../../src/flows/agent/answers.js";
import { type Changes, draftOf, noChanges } from "../../../../../src/flows/agent/configure/changes.js";
import { type Interview, interview } from "../../../../../src/flows/agent/configure/wizard.js";
import type { Session } from "../../../../../src/flows/session.js";
import { agentNameFrom, hostNameFrom } from "../../../../../src/names.js";
import { Secret } from "../../../../../src/secret.js";
import type { AgentRecord } from "../../../../../src/state/agent.js";
import { programAgent, sampleProgram } from "../../../agents/program/program-agent.js";
import { sampleAgent } from "../../../state/sample-agent.js";
import { faultOf } from "../../../state/scratch.js";

const { manifest } = await loadType("/nowhere", "hermes");
const providers = { version: 1 as const, providers: { main: { type: "openrouter", model: "m", fields: {} } } };
const record = sampleAgent("wolf");
const webhook = sampleAgent("ben", { port: 8643, channels: { webhook: {} } });
const other = sampleAgent("cid", { port: 8645 });
const host = {
  name: hostNameFrom("den"),
  address: "192.0.2.1",
  labels: {},
  added_at: "",
  sudo: "passwordless" as const,
  agents: { ben: webhook, cid: other },
};
const agent = resolvedAgent(manifest, { name: agentNameFrom("wolf"), ref: "wolf", host, record });

/** A user who gives these answers in order; no terminal without them. */
function talk(answers?: (string | boolean)[]) {
  const asked: string[] = [];
  const reply = async ({ message, initial }: { message: string; initial?: string }) => {
    asked.push(initial === undefined ? message : `${message} (${initial})`);
    const answer = answers?.shift();
    if (answer === undefined) throw new Error(`no answer to ${message}`);
    return answer;
  };
  const session = {
    ui: {
      interactive: answers !== undefined,
      note: () => undefined,
      warn: (text: string) => asked.push(`! ${text}`),
      hide: () => undefined,
      ask: reply,
      choose: reply,
      confirm: reply,
      askSecret: async (question: { message: string }) => new Secret(String(await reply(question))),
    },
    configDir: "/nowhere",
    now: () => new Date(0),
    providers: { read: () => providers },
    hosts: { read: () => ({ hosts: [host] }) },
    secrets: { names: () => [], get: () => new Secret("f".repeat(64)) },
  } as unknown as Session;
  return { session, asked, left: () => answers?.length };
}

const ask = (
  session: Session,
  now: AgentRecord,
  stages: Interview["stages"],
  said: Partial<Changes> = {},
  named?: string,
) => interview(session, { ...noChanges(), ...said }, { resolved: agent, record: now, stages, named });

const onlyProviders = { providers: true, identity: false, channels: false };
const onlyChannels = { providers: false, identity: false, channels: true };

describe("a provider that is gone", () => {
  const bereft: AgentRecord = {
    ...record,
    provider: "echo2",
    fallbacks: [{ provider: "main" }, { provider: "echo2" }],
    auxiliary: { vision: { provider: "echo2" } },
  };

  it("is asked for again", async () => {
    const { session, asked } = talk(["main", true, true]);
    const changes = await ask(session, bereft, onlyProviders);
    expect(changes).toMatchObject({ provider: "main", fallbacks: [{ provider: "main" }] });
    const draft = draftOf(agent, providers as never, bereft, changes).record;
    expect([draft.provider, draft.fallbacks, draft.auxiliary]).toEqual(["main", [{ provider: "main" }], undefined]);
    expect(asked).toContain("wolf has echo2 as a fallback, which does not exist. Continue without it?");
  });

  it.each<[Partial<AgentRecord>, string, string]>([
    [{ provider: "echo2" }, "wolf has echo2 as its provider, which does not exist", "--provider NAME"],
    [
      { provider: "main", fallbacks: [{ provider: "echo2" }] },
      "wolf has echo2 as a fallback, which does not exist",
      "--fallback none",
    ],
    [
      { provider: "main", auxiliary: { vision: { provider: "echo2" } } },
      "wolf has echo2 as auxiliary vision, which does not exist",
      "--auxiliary vision=none",
    ],
  ])("without a terminal is reported with its purpose: %j", async (has, message, flag) => {
    const next = [`clm agent configure wolf ${flag}`, "clm provider list"];
    const now = { ...record, ...has };
    const { session } = talk();
    expect(await faultOf(() => ask(session, now, onlyProviders))).toMatchObject({ fault: "not-found", message, next });
    expect(await faultOf(() => answersFor(session, agent, now))).toMatchObject({ message, next });
  });

  it("is removed by flags", async () => {
    const { session } = talk();
    const said = { provider: "main", fallbacks: [], auxiliary: { vision: undefined } };
    expect(await ask(session, bereft, onlyProviders, said)).toMatchObject({ provider: "main", fallbacks: [] });
  });
});

describe("a channel", () => {
  const discord = () => ({ channels: { discord: { fields: {}, secrets: {} } } });
  const token = `${"A".repeat(24)}.${"b".repeat(6)}.${"c".repeat(38)}`;

  it("asks for its secret in context, until it is valid", async () => {
    const { session, asked } = talk(["", token, "123456789012345678"]);
    const { channels } = await ask(session, record, onlyChannels, discord());
    expect(asked[0]).toBe("Bot token (discord.token):");
    expect(asked[1]).toMatch(/^! discord\.token is empty/);
    expect(asked[2]).toBe("Bot token (discord.token):");
    const source = channels.discord?.secrets.token;
    expect(source?.kind === "given" && source.secret.reveal()).toBe(token);
    expect(JSON.stringify(asked) + JSON.stringify(channels)).not.toContain(token);
  });

  it("is offered a port that no other agent of the host has", async () => {
    const { session, asked } = talk(["webhook", "a-secret-of-its-own", "8646", "127.0.0.1", "-"]);
    const { channels } = await ask(session, record, onlyChannels);
    // 8644 is the webhook of ben, 8645 the API of cid.
    expect(asked).toContain("Port: (8646)");
    expect(channels.webhook?.fields).toEqual({ port: "8646", bind: "127.0.0.1" });
  });

  it("allows named users, or everyone on request", async () => {
    const { session, asked, left } = talk([token, "", false, "", true]);
    const { channels } = await ask(session, record, onlyChannels, discord());
    expect(channels.discord?.fields).toEqual({ allow_all_users: "true" });
    expect(asked.filter((text) => text === "Let everyone talk to it?")).toHaveLength(2);
    expect(left()).toBe(0);
  });
});

describe("optional questions", () => {
  const both = { providers: true, identity: false, channels: true };
  const withProvider: AgentRecord = { ...record, provider: "main" };
  const part = () => ({ fields: { allow_all_users: "true" }, secrets: { token: { kind: "env" as const, name: "T" } } });
  const [provider, channels] = ["Provider for wolf:", "Channels: the local API is always on. Another?"];
  const discord = "Channels: the local API is always on, discord. Another?";

  it.each<[given: string, said: Partial<Changes>, stage: string | undefined, asked: string[]]>([
    ["nothing", {}, undefined, [channels]],
    ["nothing for --stage providers", {}, "providers", [`${provider} (main)`, channels]],
    ["a provider", { provider: "main" }, undefined, []],
    ["a model", { model: "m" }, undefined, []],
    ["no fallbacks", { fallbacks: [] }, undefined, []],
    ["an auxiliary model", { auxiliary: { vision: { provider: "main" } } }, undefined, []],
    ["a channel", { channels: { discord: part() } }, undefined, []],
    ["a channel that goes", { withoutChannels: ["discord"] }, undefined, []],
    ["an MCP server", { mcp: { mine: { fields: {}, secrets: {}, server: {} } } }, undefined, []],
    ["an MCP server that goes", { withoutMcp: ["mine"] }, undefined, []],
    ["a port", { port: 8700 }, undefined, []],
    ["a sandbox", { relaxed: false }, undefined, []],
    ["a model for --stage providers", { model: "m" }, "providers", []],
    ["a channel for --stage channels", { channels: { discord: part() } }, "channels", []],
    ["a provider for --stage channels", { provider: "main" }, "channels", [channels]],
    ["a channel for --stage providers", { channels: { discord: part() } }, "providers", [`${provider} (main)`]],
  ])("with %s given on a terminal", async (_, said, stage, questions) => {
    const { session, asked } = talk(questions.map((text) => (text.startsWith(provider) ? "main" : "-")));
    await ask(session, withProvider, both, said, stage);
    expect(asked).toEqual(questions);
  });

  it("are asked again about a stage that was gone through and is named", async () => {
    const stages = { channels: { result: "complete" as const, at: "" } };
    const now = { ...withProvider, onboarding: { ...record.onboarding, stages }, channels: { discord: {} } };
    const unnamed = talk([]);
    await ask(unnamed.session, now, both);
    expect(unnamed.asked).toEqual([]);
    const { session, asked } = talk(["-"]);
    await ask(session, now, onlyChannels, {}, "channels");
    expect(asked).toEqual([discord]);
  });

  it("are not asked where a required one is", async () => {
    const { session, asked } = talk(["main"]);
    const { provider: _, ...bare } = record;
    await ask(session, bare, both, { port: 8700 });
    expect(asked).toEqual([provider]);
  });
});

describe("removals", () => {
  const take = (said: Partial<Changes>, now = record) =>
    draftOf(agent, providers as never, now, { ...noChanges(), ...said }).record;
  const own = { ...record, mcp: { mine: { server: { command: "x" } } } };

  it("may be gone already", () => {
    expect(take({ withoutChannels: ["discord"], withoutMcp: ["atlassian", "mine"] })).toEqual(record);
    expect(take({ withoutMcp: ["mine"] }, own).mcp).toBeUndefined();
  });

  it.each<[Partial<Changes>, string]>([
    [{ withoutChannels: ["discrod"] }, "there is no channel called 'discrod'"],
    [{ withoutChannels: ["api_server"] }, "there is no channel called 'api_server'"],
    [{ withoutMcp: ["mien"] }, "the agent has no MCP server 'mien' to remove"],
  ])("is refused when it is another name: %j", (said, message) => {
    expect(() => take(said, own)).toThrow(message);
  });
});

describe("settings", () => {
  const identity = { providers: false, identity: true, channels: false };
  const askSettings = (session: Session, now: AgentRecord, said: Record<string, string> = {}, named?: string) =>
    interview(
      session,
      { ...noChanges(), settings: { fields: said, secrets: {} } },
      { resolved: programAgent(now.settings), record: now, stages: identity, named },
    );
  const { settings: _, ...bare } = sampleProgram();
  const questions = [
    "Command to run:",
    "Files to copy:",
    "Environment variables:",
    "Health check: (none)",
    "Path of the HTTP health check: (/)",
  ];

  it("are all asked at first, those without an answer left out", async () => {
    const { session, asked, left } = talk(["./run", "", "A=1", "tcp", "/"]);
    const { settings } = await askSettings(session, bare);
    expect(asked).toEqual(questions);
    expect(settings.fields).toEqual({ command: "./run", environment: "A=1", health: "tcp", health_path: "/" });
    expect(left()).toBe(0);
  });

  it("are asked again until the answer is valid", async () => {
    const { session, asked } = talk(["", "./run", "", "=1", "A=1", "none", "/"]);
    const { settings } = await askSettings(session, bare);
    expect(asked.filter((text) => text.startsWith("!"))).toEqual([
      "! command is not allowed: it must be answered",
      '! environment: "=1" is not allowed: a variable is NAME=VALUE',
    ]);
    expect(settings.fields).toMatchObject({ command: "./run", environment: "A=1" });
  });

  it.each<[string, AgentRecord, Record<string, string>, string | undefined, string[]]>([
    ["one was given: only the required one", bare, { health: "tcp" }, undefined, questions.slice(0, 1)],
    ["the required one was given: none", bare, { command: "x" }, undefined, []],
    ["all required ones are recorded: none", sampleProgram({ command: "x" }), {}, undefined, []],
    [
      "the stage is named: those without an answer",
      sampleProgram({ command: "x" }),
      {},
      "identity",
      questions.slice(1),
    ],
    [
      "the stage is named and an answer given: none",
      sampleProgram({ command: "x" }),
      { health: "tcp" },
      "identity",
      [],
    ],
  ])("on a terminal when %s", async (_about, now, said, named, expected) => {
    const { session, asked } = talk(
      expected.map((text) => (text.includes("(/)") ? "/" : text.includes("none") ? "tcp" : "A=1")),
    );
    await askSettings(session, now, said, named);
    expect(asked).toEqual(expected);
  });
});
