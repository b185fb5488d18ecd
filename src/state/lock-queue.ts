import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";

// Within one process, waiters for the same lock queue here; only the first polls the disk. Each resolves when the turns
// up to it have ended.
const lastTurns = new Map<string, Promise<unknown>>();

/** Waits for our turn at `key`, first come first served. Call the result to end the turn. */
export async function takeTurn(
  key: string,
  until: number,
  signal: AbortSignal | undefined,
  late: () => Fault,
): Promise<() => void> {
  if (signal?.aborted) throw interrupted();
  const before = lastTurns.get(key);
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const turn = Promise.all([before, ended]);
  lastTurns.set(key, turn);
  turn.then(() => lastTurns.get(key) === turn && lastTurns.delete(key));
  try {
    if (before) await waitFor(before, { timeout: Math.max(0, until - performance.now()), late, signal });
    return end;
  } catch (error) {
    end();
    throw signal?.aborted ? interrupted() : error;
  }
}

const interrupted = () => new Fault("interrupted", "stopped while waiting for another part of the same command");
