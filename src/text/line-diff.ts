/** Lines of context around a change. */
const around = 2;

/** A diff: lines that begin with a blank, `-` or `+`; unchanged lines far from any change become `…`. */
export function lineDiff(before: string, after: string): string[] {
  const lines = steps(linesOf(before), linesOf(after));
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some((line) => !line.startsWith(" ")),
  );
  return lines.flatMap((line, at) => (near[at] ? [line] : near[at - 1] ? [" …"] : []));
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** By the longest common subsequence; quadratic, for files of a few hundred lines. */
function steps(before: string[], after: string[]): string[] {
  const common = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const at = (row: number, column: number): number => common[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const same = before[row] === after[column];
      const cells = common[row];
      if (cells)
        cells[column] = same ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: string[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    if (row < before.length && before[row] === after[column]) {
      lines.push(` ${before[row]}`);
      row++;
      column++;
    } else if (row < before.length && (column >= after.length || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(`-${before[row++]}`);
    } else {
      lines.push(`+${after[column++]}`);
    }
  }
  return lines;
}
