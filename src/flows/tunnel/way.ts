import type { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";

/** A way to a port of a host that was seen to lead where it should. */
export interface Way {
  connection: Pick<Connection, "open" | "forward">;
  port: number;
  /** Resolves with why it leads nowhere any more. */
  ended: Promise<Fault>;
  /** Looks anew where it leads; throws when that is not where it should. */
  look?(): Promise<void>;
  /** Takes away what was made for it. */
  close(): Promise<void>;
}
