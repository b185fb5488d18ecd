import library from "./leash.sh?raw";

// Seconds. Several may be late, or clm stopped with Ctrl-Z for a moment, before a host takes us for gone.
const between = 15;
const timeout = 90;

/**
 * For a script that runs on for us on a host: its function `beat` returns when nobody holds its stdin any more, and then the
 * script has to end all it does. The host has no use for the comments.
 */
export const leash = `patience=${timeout}\n${library.replace(/^#.*\n/gm, "")}`;

/** The last byte, when all is done and nothing has to be ended. */
export const letGo = "!";

/** Says from now on that we are there, until it is stopped. */
export function beating(say: (byte: string) => unknown): () => void {
  const timer = setInterval(() => say("."), between * 1000);
  return () => clearInterval(timer);
}
