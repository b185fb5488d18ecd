import library from "./leash.sh?raw";

// Seconds. A few beats may be late, or clm be suspended for a moment, before a host gives up on us.
const between = 15;
const timeout = 90;

/** A dead man's switch: its `beat` returns when stdin closes or falls silent; the script then ends all it started. */
export const leash = `silence=${timeout}\n${library.replace(/^#.*\n/gm, "")}`;

/** The last byte: the work is done, and nothing has to be ended. */
export const letGo = "!";

export function beating(say: (byte: string) => unknown): () => void {
  const timer = setInterval(() => say("."), between * 1000);
  return () => clearInterval(timer);
}
