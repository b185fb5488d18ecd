import { defined } from "../../text/defined.js";
import { Breaker } from "./breaker.js";
import { UpstreamPool, type UpstreamPoolOptions } from "./upstream-pool.js";

/** An agent, or the proxy beside it. */
export interface UpstreamTarget {
  host: string;
  name: string;
  proxy: boolean;
  /** Of the agent: connections are renewed when it changes. */
  mark?: string | undefined;
  /** Milliseconds that an idle connection is kept. */
  idleTimeout?: number;
}

// Milliseconds.
const sweepInterval = 5000;

export type UpstreamPoolsOptions = Pick<UpstreamPoolOptions, "maxConnections" | "timeout"> & {
  connect(target: UpstreamTarget, stop: AbortSignal): ReturnType<UpstreamPoolOptions["connect"]>;
  /** Called after each attempt to reach a host, with the error if it failed. */
  onAttempt?(host: string, error: unknown): void;
};

/** One pool for each agent and each proxy, made on first use. */
export class UpstreamPools {
  readonly #pools = new Map<string, { host: string; pool: UpstreamPool; mark: string | undefined }>();
  readonly #breakers = new Map<string, Breaker>();
  readonly #sweep = setInterval(() => {
    for (const { pool } of this.#pools.values()) pool.closeIdle();
  }, sweepInterval).unref();

  constructor(private readonly options: UpstreamPoolsOptions) {}

  /** The pool of a target; renewed when the target's mark has changed. */
  poolFor({ host, name, proxy, mark, idleTimeout }: UpstreamTarget): UpstreamPool {
    const key = `${host}/${name}${proxy ? "/proxy" : ""}`;
    const known = this.#pools.get(key);
    if (known) {
      if (known.mark !== mark) known.pool.renew();
      known.mark = mark;
      return known.pool;
    }
    const hostBreaker = this.#breakers.get(host) ?? new Breaker();
    this.#breakers.set(host, hostBreaker);
    const { connect, onAttempt, ...options } = this.options;
    const pool = new UpstreamPool({
      ...options,
      ...defined({ idleTimeout }),
      title: `${name} on ${host}`,
      hostBreaker,
      connect: (stop) => connect({ host, name, proxy }, stop),
      onAttempt: (error) => onAttempt?.(host, error),
    });
    this.#pools.set(key, { host, pool, mark });
    return pool;
  }

  /** Open connections by host. */
  openConnections(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { host, pool } of this.#pools.values()) counts.set(host, (counts.get(host) ?? 0) + pool.open);
    return counts;
  }

  close(): void {
    clearInterval(this.#sweep);
    for (const { pool } of this.#pools.values()) pool.close();
  }
}
