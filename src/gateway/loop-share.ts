/** How much of the gateway's one thread the answers of each agent may take. */
export interface LoopShare {
  /** Work on an answer took so long. Gives the milliseconds for which that agent's answers should rest; mostly 0. */
  used(target: string, milliseconds: number): number;
}

export interface LoopShareOptions {
  /** Of all the time, so much is one agent's. */
  share?: number;
  /** Milliseconds that it may take at once without resting. */
  burst?: number;
  now?: () => number;
}

/**
 * An agent can say things that cost more to look at than to send: millions of empty lines. While nothing else has to be done that
 * harms nobody, but here all agents share one thread. Each has a bucket of time that fills at its share.
 */
export function loopShare({
  share = 0.25,
  burst = 50,
  now = () => performance.now(),
}: LoopShareOptions = {}): LoopShare {
  const buckets = new Map<string, { level: number; at: number }>();
  return {
    used(target, milliseconds) {
      const at = now();
      const bucket = buckets.get(target) ?? { level: burst, at };
      buckets.set(target, bucket);
      bucket.level = Math.min(burst, bucket.level + (at - bucket.at) * share) - milliseconds;
      bucket.at = at;
      return bucket.level >= 0 ? 0 : -bucket.level / share;
    },
  };
}
