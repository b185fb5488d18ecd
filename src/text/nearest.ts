/** The candidate closest to a mistyped word, ignoring case; undefined when none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= most && distance < word.length && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { candidate, distance };
  }
  return best?.candidate;
}

/** Fault details for an unknown word: the closest candidate, or `otherwise` when none is close. */
export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  otherwise: string | string[] = [],
): { why: string | string[]; data: { guess?: string } } {
  const guess = nearest(word, candidates);
  return guess === undefined ? { why: otherwise, data: {} } : { why: `did you mean '${guess}'?`, data: { guess } };
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced, swapped ? at(beforeLast, j - 2) + 1 : replaced);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

const at = (row: number[], index: number): number => row[index] ?? 0;
