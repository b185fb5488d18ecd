/** The candidate a mistyped word most likely meant, in whatever case; nothing when none is close. */
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

/** The details of a fault about a word that means nothing; `otherwise` is said when no candidate is close. */
export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  otherwise: string | string[] = [],
): { why: string | string[]; data: { guess?: string } } {
  const guess = nearest(word, candidates);
  return guess === undefined ? { why: otherwise, data: {} } : { why: `did you mean '${guess}'?`, data: { guess } };
}

/** How many letters must be added, removed, replaced or swapped with their neighbour to make `a` into `b`. */
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
