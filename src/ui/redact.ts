import type { Secret } from "../secret.js";
import { encodings } from "./encodings.js";

const shown = "[secret]";

/** A shorter secret is hidden only as a whole word: `a` or `123` would black out half of every text. */
const short = 4;
const wordCharacter = /[\p{L}\p{N}_]/u;

export interface RedactedStream {
  /** The text that may be shown now. A possible beginning of a secret is kept back until more comes. */
  push(chunk: string): string;
  flush(): string;
}

export interface Redactor {
  hide(secret: Secret): void;
  /** For a complete text. */
  text(whole: string): string;
  /** For text that comes in pieces, cut anywhere. */
  stream(): RedactedStream;
}

interface Span {
  start: number;
  end: number;
}

/** Replaces secrets in every known encoding. `spelled` converts one to the input's form, as latin1 for bytes. */
export function createRedactor(spelled: (text: string) => string = (text) => text): Redactor {
  const patterns = new Set<string>();
  const beginnings = new Set<string>();
  let longest = 0;

  function hide(secret: Secret): void {
    const value = secret.reveal();
    for (const form of value.trim().length < short ? [value.trim()] : encodings(value)) {
      const pattern = spelled(form);
      if (pattern === "") continue;
      patterns.add(pattern);
      beginnings.add(pattern.charAt(0));
      longest = Math.max(longest, pattern.length);
    }
  }

  function spansIn(text: string, before: string, last: boolean): Span[] {
    const spans: Span[] = [];
    for (const pattern of patterns) {
      for (let start = text.indexOf(pattern); start >= 0; start = text.indexOf(pattern, start + 1)) {
        const end = start + pattern.length;
        if (pattern.length < short && !standsAlone(start === 0 ? before : text.charAt(start - 1), text.charAt(end)))
          continue;
        if (pattern.length < short && end === text.length && !last) continue;
        spans.push({ start, end });
      }
    }
    return spans.sort((a, b) => a.start - b.start);
  }

  /** The position from which the text may contain an incomplete secret. */
  function undecided(text: string): number {
    for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
      if (!beginnings.has(text.charAt(at))) continue;
      const tail = text.slice(at);
      for (const pattern of patterns) {
        // A complete short secret still needs the character after it.
        if (pattern.startsWith(tail) && (pattern.length > tail.length || pattern.length < short)) return at;
      }
    }
    return text.length;
  }

  function stream(): RedactedStream {
    let held = "";
    /** How much of `held` belongs to a secret that was printed as `[secret]` already. */
    let covered = 0;
    /** The character before `held`. */
    let before = "";

    function take(chunk: string, last: boolean): string {
      if (patterns.size === 0 && held === "") {
        before = chunk.slice(-1) || before;
        return chunk;
      }
      const text = held + chunk;
      const keep = last ? text.length : undecided(text);
      let result = "";
      let done = covered;
      for (const { start, end } of spansIn(text, before, last)) {
        if (start >= keep) break;
        // Secrets may overlap (`abab` twice in `ababab`): together they are one hidden part.
        if (start >= done) result += text.slice(done, start) + shown;
        done = Math.max(done, end);
      }
      if (done < keep) result += text.slice(done, keep);
      held = text.slice(keep);
      covered = Math.max(0, done - keep);
      before = keep > 0 ? text.charAt(keep - 1) : before;
      return result;
    }

    return { push: (chunk) => take(chunk, false), flush: () => take("", true) };
  }

  return {
    hide,
    text: (whole) => {
      const one = stream();
      return one.push(whole) + one.flush();
    },
    stream,
  };
}

const standsAlone = (before: string, after: string): boolean =>
  !wordCharacter.test(before) && !wordCharacter.test(after);
