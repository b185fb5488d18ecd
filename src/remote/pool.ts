import { setTimeout as sleep } from "node:timers/promises";
import { isFault } from "../errors.js";
import { limit } from "../limit.js";
import type { Means } from "./connect.js";
import type { Connection } from "./connection.js";
import type { Target } from "./target.js";

// Handshakes are work for the processor: past this many at once each only waits for the others.
const startsAtOnce = 32;
const tries = 4;

/** One connection per host, made when first asked for and shared. */
export interface Pool {
  connect(target: Target): Promise<Connection>;
  close(): void;
}

export function createPool(means: Means): Pool {
  const start = limit(startsAtOnce);
  const connections = new Map<string, Promise<Connection>>();

  return {
    connect(target) {
      const known = connections.get(target.name);
      if (known) return known;
      const made = start(() => patiently(target, means));
      connections.set(target.name, made);
      const forget = () => connections.get(target.name) === made && connections.delete(target.name);
      made.then((connection) => connection.closed.then(forget), forget);
      return made;
    },
    close() {
      for (const made of connections.values())
        made.then(
          (connection) => connection.close(),
          () => {},
        );
    },
  };
}

/** A default sshd drops some of many connections that start together (MaxStartups 10:30:100): wait a little, try again. */
async function patiently(target: Target, means: Means): Promise<Connection> {
  // Loaded with the first connection: most commands that have a pool in reach never connect.
  const { connect } = await import("./connect.js");
  for (let attempt = 1; ; attempt++) {
    try {
      return await connect(target, means);
    } catch (error) {
      if (attempt === tries || !isFault(error, "unreachable") || !error.data.again) throw error;
      await sleep(attempt * 100 + Math.random() * 200, undefined, means.signal ? { signal: means.signal } : {});
    }
  }
}
