import { Fault } from "../errors.js";

// Within one process, waiters for the same lock queue here; only the first polls the disk.
const lines = new Map<string, (() => void)[]>();

/** Waits for our turn at `key`, first come first served. Call the result to end the turn. */
export async function takeTurn(
  key: string,
  until: number,
  signal: AbortSignal | undefined,
  tooLate: () => Fault,
): Promise<() => void> {
  if (signal?.aborted) throw interrupted();
  const line = lines.get(key);
  if (line) await called(line, until, signal, tooLate);
  else lines.set(key, []);
  return () => {
    const next = lines.get(key)?.shift();
    if (next) next();
    else lines.delete(key);
  };
}

function called(
  line: (() => void)[],
  until: number,
  signal: AbortSignal | undefined,
  tooLate: () => Fault,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const turn = () => {
      stopWaiting();
      resolve();
    };
    const leave = (fault: Fault) => {
      stopWaiting();
      line.splice(line.indexOf(turn), 1);
      reject(fault);
    };
    const stop = () => leave(interrupted());
    const timer = setTimeout(() => leave(tooLate()), Math.max(0, until - performance.now()));
    const stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    };
    signal?.addEventListener("abort", stop, { once: true });
    line.push(turn);
  });
}

const interrupted = () => new Fault("interrupted", "stopped while waiting for another part of the same command");
