export interface WaitOptions<T> {
  /** Milliseconds. */
  timeout?: number;
  late?: () => Error;
  signal?: AbortSignal | undefined;
  /** Gets a result that came too late, to close it. */
  drop?: (result: T) => void;
}

export function waitFor<T>(work: Promise<T>, { timeout, late, signal, drop }: WaitOptions<T>): Promise<T> {
  return new Promise((done, failed) => {
    let over = false;
    const end = () => {
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    };
    const giveUp = (reason: unknown) => {
      end();
      failed(reason);
    };
    const stop = () => giveUp(signal?.reason);
    const timer = timeout === undefined ? undefined : setTimeout(() => giveUp(late?.()), timeout);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    work.then((result) => {
      if (over) return drop?.(result);
      end();
      done(result);
    }, giveUp);
  });
}
