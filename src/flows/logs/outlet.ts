import { setTimeout as sleep } from "node:timers/promises";

/** Where things are told, one after the other, no faster than they are taken. */
export interface Outlet<T> {
  tell(something: T): void;
  /** Resolves when all was taken, or nobody wants any more of it. */
  room(): Promise<void> | undefined;
  /** Waits for that; nothing is told any more then. */
  close(): Promise<void>;
}

// Milliseconds for what was heard last, when somebody says stop: who pages through it may never take it.
const grace = 200;

export function outlet<T>(take: (something: T) => Promise<void> | void, signal: AbortSignal): Outlet<T> {
  let last: Promise<void> = Promise.resolve();
  let untaken = 0;
  let closed = false;
  const waiting = new Set<() => void>();
  function wake(): void {
    for (const each of waiting) each();
    waiting.clear();
  }
  signal.addEventListener("abort", wake, { once: true });

  function room(): Promise<void> | undefined {
    if (untaken === 0 || signal.aborted) return undefined;
    return new Promise((resolve) => waiting.add(resolve));
  }

  return {
    room,
    tell(something) {
      untaken++;
      last = last
        .then(() => (closed ? undefined : take(something)))
        .finally(() => {
          if (--untaken === 0) wake();
        });
    },
    async close() {
      await room();
      await Promise.race([last, ...(signal.aborted ? [sleep(grace)] : [])]);
      closed = true;
    },
  };
}
