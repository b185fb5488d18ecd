import { choice, command, flag, type Noun, number, required, text } from "../../command.js";

const keyWord = required("the key: its name or its id");

export const create = command({
  path: "gateway key create",
  summary: "make a key that opens the gateway",
  description: `Prints the key alone on stdout, this once: clm keeps a keyed hash of it and cannot show it again. Put it where the tool looks for an
OpenAI key.

--agents names what the key may use. What an agent lends of a subscription (clm agent proxy) is not part of it: 'ada,ada/proxy' is for
both, '*/proxy' for all of them.

A role says what the key may do: chat lists models and talks, read lists models and reads metrics, admin does both. Agents that the
key may not use do not exist for it. Limits are counted in UTC: --rpm over any 60 seconds, --tokens-per-day and budgets from midnight
or the first of the month. A budget needs prices: see models.yaml in the config directory.

--concurrency is how many calls of the key may be under way at once to one agent (32 unless said otherwise); of a key with a token limit or a
budget it is how many in all (8 unless said otherwise). Calls beyond that wait for up to a minute.

Sessions, responses and conversations at an agent are the key's own: another key cannot reach them, even if it knows the name of a
session. Keys made with the same --share-sessions GROUP share theirs. With --all-sessions a key uses the agent's own
ids: it can continue every session of its agents, also those of other keys, of 'clm chat' and of handoffs. Give that to nobody who
must not read them; the gateway's audit log says so on each of its lines.

With --signed the key itself never travels: requests carry a signature, which 'clm gateway sign-proxy' makes for tools that cannot.`,
  options: {
    name: text("NAME", "what to call the key: who or what uses it"),
    agents: text("PATTERNS", "agents it may use: NAME or HOST/NAME with * and ?, and NAME/proxy, parted by commas"),
    role: choice("ROLE", ["chat", "read", "admin"], "what it may do", { default: "chat" }),
    expires: text("WHEN", "when it ends: 12h, 30d, 2027-01-01"),
    rpm: number("N", "requests a minute", { min: 1, max: 1_000_000 }),
    concurrency: number("N", "calls under way at once: 32, or 8 with a token limit or a budget", { min: 1, max: 1000 }),
    tokensPerDay: number("N", "tokens a day, sent and received", { min: 1 }),
    budgetUsd: text("USD", "what it may spend: 20, 5/day or 50/month"),
    signed: flag("take only signed requests"),
    shareSessions: text("GROUP", "share sessions with the keys of this group"),
    allSessions: flag("continue every session of its agents, also those of others"),
  },
  formats: ["table", "json"],
  mutates: true,
  examples: [
    { run: "clm gateway key create --name codex --agents 'hermes-*' --expires 30d" },
    { run: "KEY=$(clm gateway key create --name ci --agents lab-1/ada --rpm 60 --budget-usd 5/day)" },
    { run: "clm gateway key create --name batch --agents ada --tokens-per-day 2000000 --concurrency 2" },
    { run: "clm gateway key create --name grafana --agents '*' --role read" },
    { run: "clm gateway key create --name web-1 --agents ada --share-sessions web" },
    { run: "clm gateway key create --name laptop --agents '*' --signed -o json" },
  ],
  load: () => import("./create.js"),
});

export const list = command({
  path: "gateway key list",
  summary: "list the gateway's keys and what they used",
  description: "Shows what was recorded and what the gateway's audit log says was used. No key is ever shown.",
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm gateway key list" },
    { run: "clm gateway key list -o json | jq '.[] | select(.state==\"active\")'" },
  ],
  load: () => import("./list.js"),
});

export const revoke = command({
  path: "gateway key revoke",
  summary: "make a key open nothing any more",
  description: `A gateway that runs refuses it from the next request on. The record stays, marked, so that its id in the audit log keeps its
name; the name is free for another key.`,
  args: { key: keyWord },
  formats: ["table", "json"],
  mutates: true,
  examples: [{ run: "clm gateway key revoke codex" }, { run: "clm gateway key revoke codex --yes" }],
  load: () => import("./revoke.js"),
});

export const rotate = command({
  path: "gateway key rotate",
  summary: "give a key another secret",
  description: `Prints the new key alone on stdout, this once. Name, id, limits and what was used stay. The old secret ends at once; with --grace it
works until then, so that tools can be changed one after the other.`,
  args: { key: keyWord },
  options: { grace: text("TIME", "how long the old one still works: 30m, 1h, 2d") },
  formats: ["table", "json"],
  mutates: true,
  examples: [{ run: "clm gateway key rotate codex" }, { run: "clm gateway key rotate codex --grace 1h" }],
  load: () => import("./rotate.js"),
});

export const key: Noun = {
  name: "gateway key",
  summary: "keys that open the gateway",
  commands: [create, list, revoke, rotate],
};

export const usage = command({
  path: "gateway usage",
  summary: "show what went through the gateway and what it cost",
  description: `Adds up requests, tokens and money from the gateway's audit log, whether a gateway runs or not. Days are UTC's; what is older than
400 of them is one row. Money is tokens times the prices in models.yaml at that time. A '-' stands for requests that had no key, or
no agent.`,
  options: {
    key: text("KEY", "only this key's, by name or id"),
    agent: text("AGENT", "only this agent's: NAME, HOST/NAME or a pattern", { completes: "agent" }),
    since: text("WHEN", "only from this day on: 7d, 2026-11-01"),
    by: choice("WHAT", ["key", "agent", "day"], "a row for each of these", { default: "key" }),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm gateway usage" },
    { run: "clm gateway usage --by day --since 7d" },
    { run: "clm gateway usage --key codex --by agent -o json" },
  ],
  load: () => import("./usage.js"),
});
