import { command, flag, number, text } from "../../command.js";

export const audit = command({
  path: "gateway audit",
  summary: "show the gateway's requests: key, agent, result, cost",
  description: `The log has one line per request, refused ones included: key, agent, model, result, tokens, cost and
time. Messages are recorded only when the gateway runs with --log-bodies. Each line contains the hash of the previous
one, so a changed, moved or deleted line is detected: --verify checks the whole chain, over all files of the log, and
exits with 30 when it is broken. It can run while the gateway does.

A line is written before the answer ends, and a request whose line cannot be written is refused. Killing the gateway
loses no line; a power failure loses at most the last second.`,
  options: {
    verify: flag("check that no line was changed or removed"),
    follow: flag("keep printing new requests until Ctrl-C", { short: "f" }),
    limit: number("N", "the last N requests (default 50; with --follow 10, with --since all)", {
      min: 0,
      max: 1_000_000,
    }),
    key: text("KEY", "only requests with this key, by name or id"),
    agent: text("NAME", "only requests to this agent: NAME, HOST/NAME or a pattern", { completes: "agent" }),
    status: text("STATUS", "only requests with this result: 429, 4xx or a code such as invalid_api_key"),
    since: text("TIME", "start time: 90s, 15m, 2h, 3d ago, or 09:30, 2026-11-16, '2026-11-16 09:30'"),
  },
  formats: ["table", "json"],
  examples: [
    "clm gateway audit --since 1h --status 4xx",
    "clm gateway audit -f --agent hermes-test",
    "clm gateway audit --key codex --limit 1000 -o json | jq '[.[].usd // 0] | add'",
    "clm gateway audit --follow -o json | jq -r .model   # one object per line",
    "clm gateway audit --verify",
  ],
  load: () => import("./audit.js"),
});
