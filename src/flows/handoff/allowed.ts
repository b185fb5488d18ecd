import { Fault } from "../../errors.js";
import { mayUse, requireRight } from "../../gateway/keys/rights.js";
import { type GatewayKey, stateOf } from "../../gateway/request/key.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { findGatewayKey, gatewayKeyStore } from "../../state/gateway-keys.js";
import type { Session } from "../session.js";

/** The key must be live and allowed to talk with both ends. */
export function mustBeAllowed({ configDir, now }: Session, word: string, agents: readonly Agent[]): GatewayKey {
  const key = findGatewayKey(gatewayKeyStore(configDir).read(), word);
  const state = stateOf(key, now());
  if (state !== "active") throw mayNot(key, `it is ${state}`);
  try {
    requireRight(key, "talk");
  } catch {
    throw mayNot(key, `its role is ${key.role}, which may not talk with agents`);
  }
  const closed = agents.filter(({ host, name }) => !mayUse(key, { host: host.name, name }));
  if (closed.length > 0) throw mayNot(key, `it may not use ${closed.map(hostAndName).join(" and ")}`);
  return key;
}

const mayNot = ({ name, id }: GatewayKey, why: string): Fault =>
  new Fault("bad-input", `the gateway key ${name} may not hand this conversation over`, {
    why: [why, "nothing was changed"],
    next: "clm gateway key list",
    data: { key: id },
  });
