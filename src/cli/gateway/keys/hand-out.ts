import type { GatewayKey } from "../../../gateway/keys/key.js";
import { Secret } from "../../../secret.js";
import type { Context } from "../../command.js";

/** Prints a key this once: alone, so that $(…) is the key, or as JSON with what it is. */
export function handOutKey({ ui, format }: Context, record: GatewayKey, key: Secret): void {
  if (format === "json") {
    const { hash: _, former, ...told } = record;
    const until = former && { former_until: former.until };
    // All of it is handed out: what is printed in any other way has the key taken out of it.
    ui.handOut(new Secret(JSON.stringify({ ...told, ...until, key: key.reveal() }, null, 2)));
    return;
  }
  ui.handOut(key);
  ui.note(`this is the only time it is shown; id ${record.id}`);
}
