import type { UpstreamTarget } from "../gateway-parts.js";
import { Breaker } from "./breaker.js";
import { UpstreamPool, type UpstreamPoolOptions } from "./upstream-pool.js";

// Milliseconds.
const sweepInterval = 5000;

export type UpstreamPoolsOptions = Pick<UpstreamPoolOptions, "maxConnections" | "timeout"> & {
  connect(target: UpstreamTarget, stop: AbortSignal): ReturnType<UpstreamPoolOptions["connect"]>;
  /** Called after each attempt to reach a host, with the error if it failed. */
  onAttempt?(host: string, error: unknown): void;
};

export interface UpstreamPools {
  /** The pool of a target; renewed when the target's mark has changed. */
  poolFor(target: UpstreamTarget): UpstreamPool;
  /** Open connections by host. */
  openConnections(): Iterable<readonly [host: string, count: number]>;
  close(): void;
}

/** One pool for each agent and each proxy, made on first use. */
export function openUpstreamPools({ connect, onAttempt, ...options }: UpstreamPoolsOptions): UpstreamPools {
  const pools = new Map<string, UpstreamPool>();
  const marks = new Map<string, string | undefined>();
  const byHost = new Map<string, UpstreamPool[]>();
  const breakers = new Map<string, Breaker>();
  const breakerOf = (host: string) => {
    const breaker = breakers.get(host) ?? new Breaker();
    breakers.set(host, breaker);
    return breaker;
  };
  const sweep = setInterval(() => {
    for (const pool of pools.values()) pool.closeIdle();
  }, sweepInterval).unref();

  return {
    poolFor(target) {
      const { host, name, proxy, mark, idleTimeout } = target;
      const key = `${host}/${name}${proxy ? "/proxy" : ""}`;
      const known = pools.get(key);
      if (known && marks.get(key) !== mark) known.renew();
      marks.set(key, mark);
      if (known) return known;
      const pool = new UpstreamPool({
        ...options,
        ...(idleTimeout !== undefined && { idleTimeout }),
        title: `${name} on ${host}`,
        hostBreaker: breakerOf(host),
        connect: (stop) => connect({ host, name, proxy }, stop),
        onAttempt: (error) => onAttempt?.(host, error),
      });
      pools.set(key, pool);
      byHost.set(host, [...(byHost.get(host) ?? []), pool]);
      return pool;
    },
    openConnections: () =>
      [...byHost].map(([host, pools]) => [host, pools.reduce((sum, { open }) => sum + open, 0)] as const),
    close() {
      clearInterval(sweep);
      for (const pool of pools.values()) pool.close();
    },
  };
}
