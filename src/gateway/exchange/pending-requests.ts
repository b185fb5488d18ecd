import { Refusal } from "../request/refusal.js";

export interface PendingRequest {
  resize(bytes: number): void;
  leave(): void;
}

export interface PendingOptions {
  /** Requests of one key at once, whatever they wait for. */
  requests?: number;
  /** Bytes of the bodies of one key's requests, and of those of all keys. */
  bytes?: number;
  bytesOfAll?: number;
}

/** Limits the memory for requests that have no answer yet: their bodies are read before they can be sent on. */
export class PendingRequests {
  readonly #sums = new Map<string, { requests: number; bytes: number }>();
  readonly #limits: Required<PendingOptions>;
  #all = 0;

  constructor({ requests = 1000, bytes = 128 * 1024 * 1024, bytesOfAll = 512 * 1024 * 1024 }: PendingOptions = {}) {
    this.#limits = { requests, bytes, bytesOfAll };
  }

  /** `bytes` of the body, or the most that it may have. Throws when there is no room for it. */
  enter(who: string, bytes: number): PendingRequest {
    const sum = this.#sums.get(who) ?? { requests: 0, bytes: 0 };
    const { requests, bytes: bytesOfOne, bytesOfAll } = this.#limits;
    // One request always has room, however low the limits are.
    if (sum.requests > 0 && (sum.requests >= requests || sum.bytes + bytes > bytesOfOne)) throw tooMany();
    if (this.#all > 0 && this.#all + bytes > bytesOfAll) throw full();
    this.#sums.set(who, sum);
    sum.requests++;
    let held = 0;
    let left = false;
    const resize = (now: number) => {
      if (left) return;
      sum.bytes += now - held;
      this.#all += now - held;
      held = now;
    };
    resize(bytes);
    return {
      resize,
      leave: () => {
        if (left) return;
        resize(0);
        left = true;
        sum.requests--;
        if (sum.requests === 0) this.#sums.delete(who);
      },
    };
  }
}

const retry = { retryAfter: 2 };

function tooMany(): Refusal {
  const text = "This key's waiting requests have reached the gateway's limit; try again shortly.";
  return new Refusal(429, "too_many_pending", text, retry);
}

const full = (): Refusal => new Refusal(503, "gateway_full", "The gateway is full; try again shortly.", retry);
