import { command, flag, number, text } from "../../command.js";

export const audit = command({
  path: "gateway audit",
  summary: "show who asked what of which agent through the gateway",
  description: `Every request has one line, also those that were refused: who asked, which agent and model, how it ended, tokens, cost and time. What
was said is in it only when the gateway was started with --log-bodies. Each line holds the hash of the one before, so a line that was
changed, moved or taken out shows: --verify looks at the whole chain, over all files of the log, and ends with 30 when it is broken. It
may be asked while the gateway runs.

A line is written before the answer ends, and a request whose line cannot be written is refused. Killing the gateway loses no line; a
power cut loses at most those of the last second.`,
  options: {
    verify: flag("check that no line was changed or removed"),
    follow: flag("go on with the requests that come, until Ctrl-C", { short: "f" }),
    limit: number("N", "the last N (default 50; with --follow 10, with --since all)", { min: 0, max: 1_000_000 }),
    key: text("KEY", "only of this key: its name or its id"),
    agent: text("NAME", "only to this agent: NAME, HOST/NAME or a pattern", { completes: "agent" }),
    status: text("STATUS", "only what ended so: 429, 4xx or a code such as invalid_api_key"),
    since: text("TIME", "from then on: 90s, 15m, 2h, 3d ago, or 09:30, 2026-11-16, '2026-11-16 09:30'"),
  },
  formats: ["table", "json"],
  examples: [
    { run: "clm gateway audit --since 1h --status 4xx" },
    { run: "clm gateway audit -f --agent hermes-test" },
    { run: "clm gateway audit --key codex --limit 1000 -o json | jq '[.[].usd // 0] | add'" },
    { run: "clm gateway audit --follow -o json | jq -r .model", note: "one object per line" },
    { run: "clm gateway audit --verify" },
  ],
  load: () => import("./audit.js"),
});
