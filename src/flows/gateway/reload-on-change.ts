import { asFault } from "../../errors.js";
import { stampOf } from "../../state/state-file.js";

export interface FileSource<T> {
  paths: () => string[];
  read: () => Promise<T>;
  onChange?: () => void;
  /** Called once for each reason why it cannot be read; until it can, the former value stays. */
  onError: (why: string) => void;
}

// Milliseconds for which the files are not checked again.
const minInterval = 100;

/** A value that is read again when one of its files changes. Returns a promise only while it is being read. */
export async function reloadOnChange<T>({
  paths,
  read,
  onChange,
  onError,
}: FileSource<T>): Promise<() => T | Promise<T>> {
  const stamp = () => stampOf(paths());
  let lastStamp = stamp();
  let checkedAt = Date.now();
  let value = await read();
  let reading: Promise<T> | undefined;
  let lastError = "";

  async function reload(): Promise<T> {
    try {
      value = await read();
      lastError = "";
      onChange?.();
    } catch (error) {
      // Perhaps it is being edited: the next call tries again.
      lastStamp = "";
      const { message } = asFault(error);
      if (message !== lastError) onError(message);
      lastError = message;
    } finally {
      reading = undefined;
    }
    return value;
  }

  return () => {
    if (reading) return reading;
    const now = Date.now();
    // By the absolute difference, so that a clock that was set back does not stop it.
    if (Math.abs(now - checkedAt) < minInterval) return value;
    checkedAt = now;
    const newStamp = stamp();
    if (newStamp === lastStamp) return value;
    lastStamp = newStamp;
    reading = reload();
    return reading;
  };
}
