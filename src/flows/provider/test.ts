import { type Check, skipped } from "../../agents/check.js";
import type { Values } from "../../agents/manifest/fields.js";
import type { Connection } from "../../remote/connection.js";
import { isLoopback } from "../service/loopback.js";
import { askService } from "../service-request.js";
import type { Session } from "../session.js";
import { isAddress } from "./address.js";
import type { KnownType } from "./types.js";

/** Sends the service one free request, or says why it cannot. */
export async function tryProvider(
  session: Session,
  name: string,
  type: KnownType,
  values: Values,
  from?: Connection,
): Promise<Check> {
  const id = `provider.${name}`;
  if (!type.test) return { id, ...skipped(`${type.title} has no free request to test with; the first chat will show`) };
  if (!from && isOnAgentHost(type, values)) {
    return { id, ...skipped("will be tested from the agent's host at configure") };
  }
  return { id, ...(await askService(session, type.test, values, from)) };
}

/** A loopback address means the agent's own host, not the machine that runs clm. */
export function isOnAgentHost({ fields }: KnownType, values: Values): boolean {
  const addresses = fields.filter(isAddress).map(({ name }) => values[name]);
  return addresses.some((text) => typeof text === "string" && URL.canParse(text) && isLoopback(new URL(text)));
}
