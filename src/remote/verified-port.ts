import type { Duplex } from "node:stream";
import { Fault, isFault } from "../errors.js";
import type { Connection } from "./connection.js";

/**
 * A port on a host's loopback that must belong to one unit. A connection is opened first; then a look on the host, which began
 * after it was open, finds whose it is; only then is it handed out. It stays with the process that accepted it, so it needs no
 * other look, and what takes the port after a crash never gets a byte. One look is for all that were open when it began.
 */
export class VerifiedPort {
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(
    readonly connection: Connection,
    readonly port: number,
    /** Asks the host, now; throws unless the port and every connection that clm has to it are the unit's own. */
    private readonly look: () => Promise<void>,
  ) {}

  /** A connection of the unit's own process. Nothing was sent on it. */
  async open(): Promise<Duplex> {
    const stream = await this.connection.forward(this.port).catch(async (error) => {
      // Nobody listens, or sshd cannot tell: the look knows more.
      if (isFault(error, "remote-failed")) await this.check();
      throw error;
    });
    stream.on("error", () => {});
    try {
      await this.check();
      if (stream.destroyed) throw brokeOff(this.connection, this.port);
      return stream;
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  /** Resolves after a look that has not begun yet. */
  check(): Promise<void> {
    if (this.#next) return this.#next;
    const begin = () => {
      this.#next = undefined;
      return this.look();
    };
    this.#next = this.#current.then(begin, begin);
    this.#current = this.#next;
    return this.#next;
  }
}

const brokeOff = ({ target }: Connection, port: number): Fault =>
  new Fault("remote-failed", `port ${port} of ${target.name} broke off`, { why: "it closed the connection at once" });
