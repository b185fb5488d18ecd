import type { Duplex } from "node:stream";
import type { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";

/** A way to a port of a host. */
export interface Way {
  connection: Readonly<Pick<Connection, "open">>;
  /** A connection that was seen to lead where it should. */
  open(): Promise<Duplex>;
  /** Resolves with why it leads nowhere any more. */
  ended: Promise<Fault>;
  /** Takes away what was made for it. */
  close(): Promise<void>;
}
