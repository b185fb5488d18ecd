import { Fault } from "../../../errors.js";
import { newId } from "../../../gateway/keys/mint.js";
import { mayUse } from "../../../gateway/keys/rights.js";
import type { GatewayKey } from "../../../gateway/request/gateway-key.js";
import { reachOf } from "../../../gateway/request/session-scope.js";
import { gatewayKeyNameFrom } from "../../../names.js";
import type { Secret } from "../../../secret.js";
import { type Agent, agentsOf } from "../../../state/agents.js";
import type { GatewayKeys } from "../../../state/gateway-keys.js";
import { defined } from "../../../text/defined.js";
import type { Session } from "../../session.js";
import { keyStoreOf, newSecretFor, tidySigning } from "./secrets.js";

export type KeyOptions = Omit<
  GatewayKey,
  "id" | "hash" | "former" | "created_at" | "rotated_at" | "expires_at" | "revoked_at"
> & { expires?: Date | undefined };

const groupForm = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const patternForm = /^[a-z0-9*?._-]+(?:\/[a-z0-9*?._-]+)?(?:\/proxy)?$/;

/** Creates a key and hands it out, once. It is in the audit log before it can be used. */
export async function createKey(
  session: Session,
  options: KeyOptions,
  handOut: (record: GatewayKey, key: Secret) => void,
): Promise<void> {
  const { gate, now } = session;
  const store = keyStoreOf(session);
  const name = gatewayKeyNameFrom(options.name);
  const agents = patternsFrom(options.agents);
  if (options.expires && !(options.expires > now())) {
    throw new Fault("bad-input", `--expires ${options.expires.toISOString()} is past`, {
      why: "the key would never be valid",
    });
  }
  mustBeFree(store.read(), name);
  mustBeOneReach(options);
  warnOfUnmatched(session, agents);
  const { expires, all_sessions, role, signed, ...limits } = options;
  const reach = reachOf(options);
  const sessions = reach === "own" ? "" : `, sessions: ${reach}`;
  const action = {
    verb: "gateway key create",
    target: name,
    summary: `create gateway key ${name} (${role}${sessions})`,
  };
  await gate.pass(action, () =>
    session.withFleetLock(async () => {
      const before = store.read();
      mustBeFree(before, name);
      const id = freeId(before);
      const { key, hash } = await newSecretFor(session, { id, signed }, Object.values(before.keys));
      const record: GatewayKey = {
        ...defined({ ...limits, expires_at: expires?.toISOString() }),
        id,
        name,
        hash,
        agents,
        role,
        signed,
        created_at: now().toISOString(),
        ...(all_sessions && { all_sessions }),
      };
      const after = await store.update(({ keys, ...rest }) => ({ ...rest, keys: { ...keys, [id]: record } }));
      handOut(record, key);
      await tidySigning(session, after, now());
    }),
  );
}

function mustBeOneReach({ session_group, all_sessions }: KeyOptions): void {
  if (session_group === undefined) return;
  if (all_sessions) {
    throw new Fault("usage", "--share-sessions and --all-sessions exclude each other", {
      why: "a key with all sessions may use those of every group too",
    });
  }
  if (!groupForm.test(session_group)) {
    throw new Fault("bad-input", "--share-sessions needs a group name", {
      why: "a name has up to 63 characters of a-z 0-9 . _ - and begins with a letter or a digit",
    });
  }
}

function patternsFrom(texts: string[]): string[] {
  const patterns = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))];
  const bad = patterns.findIndex((pattern) => !patternForm.test(pattern));
  if (patterns.length === 0 || bad >= 0) {
    throw new Fault("bad-input", bad < 0 ? "--agents is empty" : `pattern ${bad + 1} of --agents is invalid`, {
      why: [
        "patterns are NAME or HOST/NAME with * and ?, separated by commas: 'web-*,lab-1/ada'; '*' is every agent",
        "a pattern that ends with /proxy is for the proxies of agents: 'ada,ada/proxy'",
      ],
      next: "clm agent list",
    });
  }
  return patterns;
}

function mustBeFree({ keys }: GatewayKeys, name: string): void {
  const taken = Object.values(keys).find((key) => key.name === name && key.revoked_at === undefined);
  if (!taken) return;
  throw new Fault("already-exists", `there is already a gateway key called ${name}`, {
    why: `its id is ${taken.id}`,
    next: [`clm gateway key rotate ${name}`, `clm gateway key revoke ${name}`],
  });
}

/** Only a warning: the agent may be installed later. */
function warnOfUnmatched({ hosts, ui }: Session, agents: string[]): void {
  const all = agentsOf(hosts.read());
  for (const pattern of agents) {
    const probe = { agents: [pattern] } as GatewayKey;
    const fits = (agent: Agent, proxied: boolean) =>
      mayUse(probe, { host: agent.host.name, name: agent.name, proxied });
    if (!all.some((agent) => fits(agent, false) || fits(agent, true))) ui.warn(`no agent matches '${pattern}' yet`);
  }
}

function freeId({ keys }: GatewayKeys): string {
  for (;;) {
    const id = newId();
    if (!Object.hasOwn(keys, id)) return id;
  }
}
