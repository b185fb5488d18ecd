import { createKey } from "../../../flows/gateway/keys/create.js";
import { revokeKey } from "../../../flows/gateway/keys/revoke.js";
import { rotateGatewayKey } from "../../../flows/gateway/keys/rotate.js";
import type { GatewayKey } from "../../../gateway/request/gateway-key.js";
import { Secret } from "../../../secret.js";
import type { Context, Handler } from "../../command.js";
import { usage } from "../../usage.js";
import type * as declared from "./commands.js";
import { budgetFrom, endFrom, lengthFrom } from "./terms.js";

export const create: Handler<typeof declared.create> = async ({ options }, clm) => {
  const { name, agents, role, expires, rpm, concurrency, tokensPerDay, budgetUsd, signed } = options;
  const { shareSessions, allSessions } = options;
  const path = "clm gateway key create";
  if (name === undefined) throw usage(path, "--name NAME is missing: the key's name");
  if (agents === undefined) {
    throw usage(path, "--agents PATTERNS is missing: the agents that it may use ('*' for all)");
  }
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
  await clm.withSession((session) => createKey(session, key, (record, secret) => handOutKey(clm, record, secret)));
};

export const rotate: Handler<typeof declared.rotate> = async ({ args, options }, clm) => {
  const grace = options.grace === undefined ? undefined : lengthFrom("--grace", options.grace, clm.now());
  await clm.withSession((session) =>
    rotateGatewayKey(session, args.key, { grace }, (record, key) => {
      handOutKey(clm, record, key);
      if (clm.format === "json") return;
      const { former } = record;
      clm.ui.note(former ? `the old key is valid until ${former.until}` : "the old key is not valid any more");
    }),
  );
};

/** Prints a key, once: alone, so that $(…) is the key, or as JSON with its record. */
function handOutKey({ ui, format }: Context, record: GatewayKey, key: Secret): void {
  if (format === "json") {
    const { hash: _, former, ...shown } = record;
    const until = former && { former_until: former.until };
    // As one secret: everything else that is printed has the key redacted.
    ui.handOut(new Secret(JSON.stringify({ ...shown, ...until, key: key.reveal() }, null, 2)));
    return;
  }
  ui.handOut(key);
  ui.note(`the key is printed only this once; its id is ${record.id}`);
}

export const revoke: Handler<typeof declared.revoke> = async ({ args }, clm) => {
  const { key, already } = await clm.withSession((session) => revokeKey(session, args.key));
  if (clm.dryRun && !already) return undefined;
  const { id, name, revoked_at } = key;
  clm.show({ id, name, revoked_at, already }, () =>
    already ? `${name} (${id}) was revoked at ${revoked_at}` : `${name} (${id}) is revoked`,
  );
};
