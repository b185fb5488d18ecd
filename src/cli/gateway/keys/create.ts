import { Fault } from "../../../errors.js";
import { createKey } from "../../../flows/gateway/keys/create.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { create } from "./commands.js";
import { handOutKey } from "./hand-out.js";
import { budgetFrom, endFrom } from "./terms.js";

export const run: Handler<typeof create> = async ({ options }, clm) => {
  const { name, agents, role, expires, rpm, concurrency, tokensPerDay, budgetUsd, signed } = options;
  const { shareSessions, allSessions } = options;
  if (name === undefined) throw missing("--name NAME", "the key's name");
  if (agents === undefined) throw missing("--agents PATTERNS", "the agents that it may use ('*' for all)");
  const key = {
    name,
    role,
    signed,
    rpm,
    concurrency,
    agents: agents.split(","),
    tokens_per_day: tokensPerDay,
    expires: expires === undefined ? undefined : endFrom("--expires", expires, clm.now()),
    budget: budgetUsd === undefined ? undefined : budgetFrom(budgetUsd),
    session_group: shareSessions,
    all_sessions: allSessions,
  };
  await withSession(clm, (session) => createKey(session, key, (record, secret) => handOutKey(clm, record, secret)));
};

const missing = (option: string, what: string) =>
  new Fault("usage", `${option} is missing: ${what}`, { next: "clm gateway key create --help" });
