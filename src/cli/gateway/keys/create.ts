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
  if (name === undefined) throw missing("--name NAME", "what to call the key");
  if (agents === undefined) throw missing("--agents PATTERNS", "which agents it may use; '*' is every one");
  const wish = {
    ...{ name, role, signed, rpm, concurrency, agents: agents.split(","), tokens_per_day: tokensPerDay },
    expires: expires === undefined ? undefined : endFrom("--expires", expires, clm.now()),
    budget: budgetUsd === undefined ? undefined : budgetFrom(budgetUsd),
    ...{ session_group: shareSessions, all_sessions: allSessions },
  };
  await withSession(clm, (session) => createKey(session, wish, (record, key) => handOutKey(clm, record, key)));
};

const missing = (option: string, what: string) =>
  new Fault("usage", `say ${what}: ${option}`, { next: "clm gateway key create --help" });
