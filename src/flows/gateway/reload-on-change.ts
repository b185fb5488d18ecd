import { asFault } from "../../errors.js";
import { stampOf } from "../../state/state-file.js";

export interface FileSource<T> {
  /** The files it is read from. */
  paths: () => string[];
  read: () => Promise<T>;
  /** Told when it was read anew. */
  changed?: () => void;
  /** Told why it could not be, once for as long as that is why. What was known until then holds. */
  trouble: (why: string) => void;
}

// Milliseconds for which the files are not looked at again.
const moment = 100;

/** What files say, read anew when one of them is another than it was. Nothing is awaited when none is. */
export async function reloadOnChange<T>({
  paths,
  read,
  changed,
  trouble,
}: FileSource<T>): Promise<() => T | Promise<T>> {
  const stamp = () => stampOf(paths());
  let seen = stamp();
  let lookedAt = Date.now();
  let known = await read();
  let reading: Promise<T> | undefined;
  let told = "";

  async function again(): Promise<T> {
    try {
      known = await read();
      told = "";
      changed?.();
    } catch (error) {
      // Somebody is at it with an editor, perhaps; what was known a moment ago is better than nothing. The next one looks again.
      seen = "";
      const { message } = asFault(error);
      if (message !== told) trouble(message);
      told = message;
    } finally {
      reading = undefined;
    }
    return known;
  }

  return () => {
    if (reading) return reading;
    const now = Date.now();
    // A clock that was set back does not stop it.
    if (Math.abs(now - lookedAt) < moment) return known;
    lookedAt = now;
    const stamped = stamp();
    if (stamped === seen) return known;
    seen = stamped;
    reading = again();
    return reading;
  };
}
