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
    const giveUp = (reason: unknown) => {
      over = true;
      clearTimeout(timer);
      failed(reason);
    };
    const stop = () => giveUp(signal?.reason);
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            giveUp(late?.());
          }, timeout);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    work.then(
      (result) => {
        if (over) return drop?.(result);
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        done(result);
      },
      (error) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        failed(error);
      },
    );
  });
}
