import { type Found, lookAtAgents } from "../../flows/fleet/look.js";
import { withSession } from "../../flows/session.js";
import { size } from "../../ui/size.js";
import { duration } from "../../ui/time.js";
import { identityOf } from "../agent/view.js";
import type { Handler, View } from "../command.js";
import { chooseAgents } from "../many.js";
import type { ps } from "./commands.js";

export const run: Handler<typeof ps> = async ({ args, options }, clm) => {
  const { all, host, label, type, sudoPasswordFile } = options;
  const some = args.names.length + host.length + label.length > 0 || type !== undefined;
  const agents = chooseAgents(clm, args.names, { all: all || !some, host, label, type });
  const found = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    lookAtAgents(session, agents, { parallel: 64 }),
  );
  clm.list(found, view);
  return found.every(({ state }) => state === "running" || state === "stopped") ? 0 : 1;
};

const view: View<Found> = {
  columns: [
    { title: "agent", value: ({ agent }) => agent.word, whole: true },
    { title: "host", value: ({ agent }) => agent.host.name, whole: true },
    { title: "state", value: ({ state }) => state, whole: true },
    { title: "version", value: ({ agent }) => agent.record.version, drop: 4 },
    {
      title: "up",
      value: ({ sight }) => (sight?.seen.age !== undefined ? duration(sight.seen.age * 1000) : undefined),
    },
    { title: "restarts", value: ({ sight }) => sight?.seen.unit.NRestarts, drop: 2 },
    { title: "memory", value: ({ sight }) => sight?.memory && size(sight.memory), drop: 6 },
    {
      title: "cpu",
      value: ({ sight }) => (sight?.busy === undefined ? undefined : `${Math.round(sight.busy)}%`),
      drop: 5,
    },
    { title: "port", value: ({ agent }) => agent.record.port, drop: 3 },
    { title: "provider", value: ({ agent }) => agent.record.provider, drop: 1 },
    { title: "reason", value: ({ reason }) => reason },
  ],
  data: ({ agent, state, reason, at, sight, proofs }) => ({
    ...identityOf(agent),
    ...{ onboarding: agent.record.onboarding.state, state, reason: reason ?? null, seen_at: at },
    ...(sight && {
      up_seconds: sight.seen.age ?? null,
      restarts: Number(sight.seen.unit.NRestarts ?? 0),
      memory_bytes: sight.memory ?? null,
      cpu_percent: sight.busy ?? null,
      channels: sight.channels,
      last_error: sight.lastError ?? null,
      reach: sight.reach ?? null,
    }),
    proofs,
  }),
  name: ({ agent }) => agent.word,
  empty: "No agents yet. Install one with: clm agent install --help",
};
