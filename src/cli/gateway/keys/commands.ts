import { choice, command, flag, type Noun, number, required, text } from "../../command.js";

const keyWord = required("name or id of the key");

export const create = command({
  path: "gateway key create",
  summary: "create a key for the gateway",
  description: `Prints the key on stdout, once: clm stores only a keyed hash and cannot show it again. Put it where
the tool expects an OpenAI key.

--agents names the agents the key may use. Their proxies (clm agent proxy) are not included: 'ada,ada/proxy' allows
both, '*/proxy' allows all proxies.

The role says what the key may do: chat lists models and chats, read lists models and reads metrics, admin does both.
Agents that the key may not use are invisible to it. Limits count in UTC: --rpm over any 60 seconds, --tokens-per-day
and budgets from midnight or from the first of the month. A budget needs prices: see models.yaml in the config
directory.

--concurrency limits the simultaneous calls of the key to one agent (default 32); for a key with a token limit or a
budget it limits them in total (default 8). Calls beyond the limit wait for up to a minute.

Sessions, responses and conversations belong to the key that created them: another key cannot reach them, even with
the session's name. Keys created with the same --share-sessions GROUP share theirs. With --all-sessions a key uses the
agent's own ids: it can continue every session of its agents, including those of other keys, of 'clm chat' and of
handoffs. Do not give such a key to anybody who must not read them; the gateway's audit log marks each of its lines.

With --signed the key itself is never sent: requests carry a signature, which 'clm gateway sign-proxy' makes for tools
that cannot.`,
  options: {
    name: text("NAME", "name of the key: who or what uses it"),
    agents: text("PATTERNS", "agents it may use: NAME or HOST/NAME with * and ?, and NAME/proxy, separated by commas"),
    role: choice("ROLE", ["chat", "read", "admin"], "what the key may do", { default: "chat" }),
    expires: text("WHEN", "when it expires: 12h, 30d, 2027-01-01"),
    rpm: number("N", "requests per minute", { min: 1, max: 1_000_000 }),
    concurrency: number("N", "simultaneous calls (default 32; 8 with a token limit or a budget)", {
      min: 1,
      max: 1000,
    }),
    tokensPerDay: number("N", "tokens per day, sent and received", { min: 1 }),
    budgetUsd: text("USD", "maximum spending: 20, 5/day or 50/month"),
    signed: flag("accept only signed requests"),
    shareSessions: text("GROUP", "share sessions with the other keys of this group"),
    allSessions: flag("may continue every session of its agents, including those of others"),
  },
  formats: ["table", "json"],
  mutates: true,
  examples: [
    "clm gateway key create --name codex --agents 'hermes-*' --expires 30d",
    "KEY=$(clm gateway key create --name ci --agents lab-1/ada --rpm 60 --budget-usd 5/day)",
    "clm gateway key create --name batch --agents ada --tokens-per-day 2000000 --concurrency 2",
    "clm gateway key create --name grafana --agents '*' --role read",
    "clm gateway key create --name web-1 --agents ada --share-sessions web",
    "clm gateway key create --name laptop --agents '*' --signed -o json",
  ],
  load: () => import("./keys.js"),
});

export const list = command({
  path: "gateway key list",
  summary: "list the gateway's keys and their usage",
  description:
    "Shows the recorded keys with their usage from the gateway's audit log. The keys themselves are never shown.",
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm gateway key list", "clm gateway key list -o json | jq '.[] | select(.state==\"active\")'"],
  load: () => import("./list.js"),
});

export const revoke = command({
  path: "gateway key revoke",
  summary: "revoke a key",
  description: `A running gateway refuses the key from the next request on. The record stays, marked as revoked, so
that the audit log can still name it; the name is free for another key.`,
  args: { key: keyWord },
  formats: ["table", "json"],
  mutates: true,
  examples: ["clm gateway key revoke codex", "clm gateway key revoke codex --yes"],
  load: () => import("./keys.js"),
});

export const rotate = command({
  path: "gateway key rotate",
  summary: "rotate a key",
  description: `Prints the new key on stdout, once. Name, id, limits and usage stay. The old key stops working at
once, or after --grace, so that tools can be changed one after the other.`,
  args: { key: keyWord },
  options: { grace: text("TIME", "how long the old key still works: 30m, 1h, 2d") },
  formats: ["table", "json"],
  mutates: true,
  examples: ["clm gateway key rotate codex", "clm gateway key rotate codex --grace 1h"],
  load: () => import("./keys.js"),
});

export const key: Noun = {
  name: "gateway key",
  summary: "keys for the gateway",
  commands: [create, list, revoke, rotate],
};

export const usage = command({
  path: "gateway usage",
  summary: "show the gateway's requests, tokens and cost",
  description: `Sums requests, tokens and cost from the gateway's audit log, whether a gateway runs or not. Days are
in UTC; everything older than 400 days is one row. Cost is tokens times the price in models.yaml at that time. '-'
stands for requests without a key or without an agent.`,
  options: {
    key: text("KEY", "only this key, by name or id"),
    agent: text("AGENT", "only this agent: NAME, HOST/NAME or a pattern", { completes: "agent" }),
    since: text("WHEN", "from this day on: 7d, 2026-11-01"),
    by: choice("WHAT", ["key", "agent", "day"], "one row per key, agent or day", { default: "key" }),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm gateway usage",
    "clm gateway usage --by day --since 7d",
    "clm gateway usage --key codex --by agent -o json",
  ],
  load: () => import("./usage.js"),
});
