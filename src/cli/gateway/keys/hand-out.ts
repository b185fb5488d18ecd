import type { GatewayKey } from "../../../gateway/request/key.js";
import { Secret } from "../../../secret.js";
import type { Context } from "../../command.js";

/** Prints a key, once: alone, so that $(…) is the key, or as JSON with its record. */
export function handOutKey({ ui, format }: Context, record: GatewayKey, key: Secret): void {
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
