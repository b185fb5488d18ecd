export interface LoopShareOptions {
  /** The share of all time that one agent may take. */
  share?: number;
  /** Milliseconds that it may take at once without a pause. */
  burst?: number;
  now?: () => number;
}

/** Limits an agent's share of the thread: bytes may cost more to read than to send, such as millions of empty lines. */
export class LoopShare {
  readonly #buckets = new Map<string, { level: number; at: number }>();
  readonly #options: Required<LoopShareOptions>;

  constructor({ share = 0.25, burst = 50, now = () => performance.now() }: LoopShareOptions = {}) {
    this.#options = { share, burst, now };
  }

  /** Work on an answer took so long. Returns the milliseconds for which the agent's answers should pause; mostly 0. */
  used(target: string, milliseconds: number): number {
    const { share, burst, now } = this.#options;
    const at = now();
    const bucket = this.#buckets.get(target) ?? { level: burst, at };
    this.#buckets.set(target, bucket);
    bucket.level = Math.min(burst, bucket.level + (at - bucket.at) * share) - milliseconds;
    bucket.at = at;
    return bucket.level >= 0 ? 0 : -bucket.level / share;
  }
}
