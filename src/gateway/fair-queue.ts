import type { GatewayKey } from "./keys/key.js";
import { Refusal } from "./refusal.js";

/** Ends a call's turn; whoever is next begins. More than once does nothing. */
export type Leave = () => void;

export interface FairQueueOptions {
  /** Calls to one agent at once, of all keys. */
  slots?: number;
  /** Calls to one agent at once of a key that does not say how many. Below `slots`: no key alone can take all of them. */
  perKey?: number;
  /** Milliseconds that a call waits for its turn. */
  timeout?: number;
}

export interface FairQueue {
  /** A turn at a target. Keys that wait take turns, whatever the number of calls each of them has waiting. */
  enter(
    target: string,
    key: Pick<GatewayKey, "id" | "name" | "concurrency">,
    signal: AbortSignal,
  ): Leave | Promise<Leave>;
}

interface Waiter {
  begin(leave: Leave): void;
}

/** The calls of a key to a target. */
interface Line {
  most: number;
  running: number;
  waiting: Set<Waiter>;
}

/** A target, and the keys that have calls to it. Those that began one come behind those that did not. */
interface Place {
  running: number;
  waiting: number;
  lines: Map<string, Line>;
}

/** One queue in front of every agent, so that many calls of one key keep nobody else's waiting. */
export function fairQueue({ slots = 64, perKey = 32, timeout = 60_000 }: FairQueueOptions = {}): FairQueue {
  const paths = new Map<string, Place>();

  function lineOf(target: string, { id, concurrency = perKey }: Pick<GatewayKey, "id" | "concurrency">) {
    const place: Place = paths.get(target) ?? { running: 0, waiting: 0, lines: new Map() };
    const line: Line = place.lines.get(id) ?? { most: concurrency, running: 0, waiting: new Set() };
    // A key may have been given another number meanwhile.
    line.most = concurrency;
    paths.set(target, place);
    place.lines.set(id, line);
    return { place, line };
  }

  function begin(target: string, place: Place, id: string, line: Line): Leave {
    place.running++;
    line.running++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      place.running--;
      line.running--;
      tidy(target, place, id, line);
      serve(target, place);
    };
  }

  function tidy(target: string, place: Place, id: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) place.lines.delete(id);
    if (place.lines.size === 0) paths.delete(target);
  }

  /** Lets begin who may: one call of each key in turn. */
  function serve(target: string, place: Place): void {
    while (place.waiting > 0 && place.running < slots) {
      const next = [...place.lines].find(([, line]) => line.waiting.size > 0 && line.running < line.most);
      if (!next) return;
      const [id, line] = next;
      const [waiter] = line.waiting;
      // Behind all others: a Map is in the order of insertion.
      place.lines.delete(id);
      place.lines.set(id, line);
      waiter?.begin(begin(target, place, id, line));
    }
  }

  return {
    enter(target, key, signal) {
      const { place, line } = lineOf(target, key);
      if (line.waiting.size === 0 && line.running < line.most && place.running < slots) {
        return begin(target, place, key.id, line);
      }
      return new Promise((entered, refused) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", gone);
          line.waiting.delete(waiter);
          place.waiting--;
        };
        const waiter: Waiter = {
          begin(leave) {
            end();
            entered(leave);
          },
        };
        const giveUp = (why: unknown) => {
          end();
          tidy(target, place, key.id, line);
          refused(why);
        };
        const gone = () => giveUp(signal.reason);
        const timer = setTimeout(() => giveUp(busy(key.name, line, timeout)), timeout);
        signal.addEventListener("abort", gone);
        line.waiting.add(waiter);
        place.waiting++;
      });
    },
  };
}

function busy(name: string, { running, most }: Line, waited: number): Refusal {
  const within = `within ${waited / 1000} s`;
  if (running < most) {
    return new Refusal(503, "agent_busy", `The agent is busy with others, and had no time ${within}.`, {
      retryAfter: 5,
    });
  }
  const text = `This key (${name}) may have ${most} calls under way at once to an agent, and none ended ${within}.`;
  return new Refusal(429, "concurrency_exceeded", text, { retryAfter: 5 });
}
