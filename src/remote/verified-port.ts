import type { Duplex } from "node:stream";
import { Fault, isFault } from "../errors.js";
import type { Connection } from "./connection.js";

/**
 * A port on a host's loopback that must belong to one unit. A connection is opened, then a check on the host finds
 * which process has it, and only then is it handed out: it stays with that process, and another one that takes the port
 * after a crash never gets a byte. One check serves all connections that were open when it started.
 */
export class VerifiedPort {
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(
    readonly connection: Connection,
    readonly port: number,
    /** Throws unless the port, and every connection that clm has to it, belong to the unit. */
    private readonly checkOwner: () => Promise<void>,
  ) {}

  /** A connection to the unit's own process, on which nothing was sent yet. */
  async open(): Promise<Duplex> {
    const stream = await this.connection.forward(this.port).catch(async (error) => {
      // Nothing listens, or sshd does not say why: the check knows more.
      if (isFault(error, "remote-failed")) await this.check();
      throw error;
    });
    stream.on("error", () => {});
    try {
      await this.check();
      if (stream.destroyed) throw closedAtOnce(this.connection, this.port);
      return stream;
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  /** Resolves after a check that starts after this call. */
  check(): Promise<void> {
    if (this.#next) return this.#next;
    const start = () => {
      this.#next = undefined;
      return this.checkOwner();
    };
    this.#next = this.#current.then(start, start);
    this.#current = this.#next;
    return this.#next;
  }
}

const closedAtOnce = ({ target }: Connection, port: number): Fault =>
  new Fault("remote-failed", `port ${port} of ${target.name} closed the connection`, {
    why: "it closed the connection at once",
  });
