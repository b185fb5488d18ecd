import type { Values } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { findHost } from "../../state/hosts.js";
import type { Check } from "../host/check.js";
import { isLoopback } from "../service/loopback.js";
import { askService } from "../service-request.js";
import type { Session } from "../session.js";
import { isAddress } from "./address.js";
import { findType, type KnownType } from "./types.js";
import { providerValues } from "./values.js";

/** Test: the provider's service is asked whether address and key are right, from here or from a host. */
export async function testProvider(session: Session, name: string, host?: string): Promise<Check> {
  const from = host === undefined ? undefined : findHost(session.hosts.read().hosts, host);
  const { type, values } = await providerValues(session, name);
  const known = await findType(session.configDir, type);
  const there = from && (await session.pool.connect(from));
  const check = await tryProvider(session, name, known, values, there);
  if (check.result === "skipped" && !there && meansItsOwnHost(known, values)) {
    throw new Fault("needs-answer", `the address of ${name} means the agent's own host`, {
      why: "from here it would be another machine; --host says from where to test it",
      next: `clm provider test ${name} --host HOST`,
      data: { flag: "--host" },
    });
  }
  return check;
}

/** One question to the service, or the reason why none was asked. */
export async function tryProvider(
  session: Session,
  name: string,
  type: KnownType,
  values: Values,
  from?: Connection,
): Promise<Check> {
  const id = `provider.${name}`;
  if (!type.test) {
    return {
      id,
      result: "skipped",
      reason: `${type.title} has no question that costs nothing; the first chat will tell`,
    };
  }
  if (!from && meansItsOwnHost(type, values)) {
    return { id, result: "skipped", reason: "will be tested from the agent's host at configure" };
  }
  return { ...(await askService(session, type.test, values, from)), id };
}

/** Whether its address is on the loopback of whoever asks, which is meant to be the agent. */
function meansItsOwnHost({ fields }: KnownType, values: Values): boolean {
  const addresses = fields.filter(isAddress).map(({ name }) => values[name]);
  return addresses.some((text) => typeof text === "string" && URL.canParse(text) && isLoopback(new URL(text)));
}
