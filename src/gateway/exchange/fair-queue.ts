import { waitFor } from "../../async/wait.js";
import type { GatewayKey } from "../request/gateway-key.js";
import { Refusal } from "../request/refusal.js";

/** Ends a call's turn and starts the next one. Calling it again does nothing. */
export type Leave = () => void;

export interface FairQueueOptions {
  slots?: number;
  /** Calls of one key to one agent at once, by default. Below `slots`, so that no key alone can take all of them. */
  perKey?: number;
  /** Milliseconds that a call waits for its turn. */
  timeout?: number;
}

type QueueKey = Pick<GatewayKey, "id" | "name" | "concurrency">;

interface Line {
  most: number;
  running: number;
  /** Each begins a call. */
  waiting: Set<(leave: Leave) => void>;
}

/** The calls to one target, by key. A key that started a call moves behind the others. */
interface QueueTarget {
  name: string;
  running: number;
  waiting: number;
  lines: Map<string, Line>;
}

/** A queue in front of each agent, in which keys take turns: many calls of one key do not delay those of others. */
export class FairQueue {
  readonly #targets = new Map<string, QueueTarget>();
  readonly #options: Required<FairQueueOptions>;

  constructor({ slots = 64, perKey = 32, timeout = 60_000 }: FairQueueOptions = {}) {
    this.#options = { slots, perKey, timeout };
  }

  enter(name: string, key: QueueKey, signal: AbortSignal): Leave | Promise<Leave> {
    const { slots, timeout } = this.#options;
    const target = this.#targets.get(name) ?? { name, running: 0, waiting: 0, lines: new Map() };
    this.#targets.set(name, target);
    const line = this.#lineOf(target, key);
    if (line.waiting.size === 0 && line.running < line.most && target.running < slots) {
      return this.#begin(target, key.id, line);
    }
    let begin = (_leave: Leave) => {};
    const turn = new Promise<Leave>((entered) => {
      begin = entered;
    });
    line.waiting.add(begin);
    target.waiting++;
    const late = () => busy(key.name, line, timeout);
    return waitFor(turn, { signal, timeout, late, drop: (leave) => leave() }).catch((why) => {
      if (line.waiting.delete(begin)) {
        target.waiting--;
        this.#tidy(target, key.id, line);
      }
      throw why;
    });
  }

  #lineOf({ lines }: QueueTarget, { id, concurrency = this.#options.perKey }: QueueKey): Line {
    const line: Line = lines.get(id) ?? { most: concurrency, running: 0, waiting: new Set() };
    // The key's record may have changed.
    line.most = concurrency;
    lines.set(id, line);
    return line;
  }

  #begin(target: QueueTarget, id: string, line: Line): Leave {
    target.running++;
    line.running++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      target.running--;
      line.running--;
      this.#tidy(target, id, line);
      this.#serve(target);
    };
  }

  #tidy(target: QueueTarget, id: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) target.lines.delete(id);
    if (target.lines.size === 0) this.#targets.delete(target.name);
  }

  /** Starts the calls that may: one of each key in turn. */
  #serve(target: QueueTarget): void {
    while (target.waiting > 0 && target.running < this.#options.slots) {
      const next = [...target.lines].find(([, line]) => line.waiting.size > 0 && line.running < line.most);
      if (!next) return;
      const [id, line] = next;
      const [begin] = line.waiting;
      if (!begin) return;
      line.waiting.delete(begin);
      target.waiting--;
      // Behind all others: a Map is in the order of insertion.
      target.lines.delete(id);
      target.lines.set(id, line);
      begin(this.#begin(target, id, line));
    }
  }
}

function busy(name: string, { running, most }: Line, waited: number): Refusal {
  const within = `within ${waited / 1000} s`;
  const retry = { retryAfter: 5 };
  if (running < most) {
    return new Refusal(503, "agent_busy", `The agent is busy with other requests, and was not free ${within}.`, retry);
  }
  const text = `This key (${name}) may have ${most} calls to an agent in flight at once, and none ended ${within}.`;
  return new Refusal(429, "concurrency_exceeded", text, retry);
}
