import { setTimeout as sleep } from "node:timers/promises";
import { limit } from "../async/limit.js";
import type { ConnectOptions } from "./connect.js";
import type { Connection } from "./connection.js";
import type { Target } from "./target/target.js";

// Handshakes are CPU-bound: more than this at once only wait for each other.
const startsAtOnce = 32;
const connectAttempts = 4;

/** One shared connection per host, opened on first use and replaced when the host's address changes. */
export interface Pool {
  connect(target: Target): Promise<Connection>;
  close(): void;
}

export function createPool(options: ConnectOptions): Pool {
  const start = limit(startsAtOnce);
  const connections = new Map<string, { to: string; made: Promise<Connection> }>();
  /** All that may be open, including those to a former address, where running work finishes. */
  const all = new Set<Promise<Connection>>();

  return {
    connect(target) {
      const to = endpointOf(target);
      const known = connections.get(target.name);
      if (known?.to === to) return known.made;
      const made = start(() => connectWithRetry(target, options));
      connections.set(target.name, { to, made });
      all.add(made);
      const forget = () => {
        all.delete(made);
        if (connections.get(target.name)?.made === made) connections.delete(target.name);
      };
      made.then((connection) => connection.closed.then(forget), forget);
      return made;
    },
    close() {
      for (const made of all)
        made.then(
          (connection) => connection.close(),
          () => {},
        );
    },
  };
}

const endpointOf = ({ address, port, user, jump }: Target): string => JSON.stringify([address, port, user, jump]);

/** A default sshd drops some of many connections that start together (MaxStartups 10:30:100): wait a little, try again. */
async function connectWithRetry(target: Target, options: ConnectOptions): Promise<Connection> {
  // Loaded late: most commands with a pool never connect.
  const { connect, DroppedAtStart } = await import("./connect.js");
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect(target, options);
    } catch (error) {
      if (attempt === connectAttempts || !(error instanceof DroppedAtStart)) throw error;
      await sleep(attempt * 100 + Math.random() * 200, undefined, options.signal ? { signal: options.signal } : {});
    }
  }
}
