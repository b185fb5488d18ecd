import { Refusal } from "./refusal.js";

/** What the requests that are not answered yet keep in memory. */
export interface PendingRequests {
  /** A request of somebody begins; the bytes of its body, or the most that it may have. Throws when there is no room for it. */
  enter(who: string, bytes: number): PendingRequest;
}

export interface PendingRequest {
  /** The body turned out to have so many. */
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

interface Sum {
  requests: number;
  bytes: number;
}

/** Bodies are read before anybody knows when they can be sent on: a key may not fill the memory with them. */
export function pendingRequests(options: PendingOptions = {}): PendingRequests {
  const { requests = 1000, bytes: bytesOfOne = 128 * 1024 * 1024, bytesOfAll = 512 * 1024 * 1024 } = options;
  const sums = new Map<string, Sum>();
  let all = 0;

  return {
    enter(who, bytes) {
      const sum = sums.get(who) ?? { requests: 0, bytes: 0 };
      // One request always has room, however small the numbers are.
      if (sum.requests > 0 && (sum.requests >= requests || sum.bytes + bytes > bytesOfOne)) throw tooMany();
      if (all > 0 && all + bytes > bytesOfAll) throw full();
      sums.set(who, sum);
      sum.requests++;
      let held = 0;
      let left = false;
      const resize = (now: number) => {
        if (left) return;
        sum.bytes += now - held;
        all += now - held;
        held = now;
      };
      resize(bytes);
      return {
        resize,
        leave() {
          if (left) return;
          resize(0);
          left = true;
          sum.requests--;
          if (sum.requests === 0) sums.delete(who);
        },
      };
    },
  };
}

const tooMany = (): Refusal =>
  new Refusal(429, "too_many_pending", "This key has as many requests waiting as the gateway holds for one key.", {
    retryAfter: 2,
  });

const full = (): Refusal =>
  new Refusal(503, "gateway_full", "The gateway holds as many requests as it can.", { retryAfter: 2 });
