import { columns, cut, padded } from "./columns.js";
import { oneLine } from "./plain.js";

/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
}

const gutter = "   ";

export interface TableOptions {
  /** The terminal's columns, when there is one: the widest columns of the table are cut until a row fits. */
  width?: number | undefined;
  /** What may be shown of a cell, on one line. Comes before cutting: half a secret is not recognised any more. */
  clean?: (text: string) => string;
}

/** Rows under upper-case titles, without lines around them. Without a width nothing is cut: scripts read it all. */
export function table<Row>(rows: readonly Row[], spec: readonly Column<Row>[], options: TableOptions = {}): string {
  const { width, clean = oneLine } = options;
  const cell = (value: string | number | undefined) => clean(String(value ?? "")) || "-";
  const titles = spec.map((column) => column.title.toUpperCase());
  const lines = [titles, ...rows.map((row) => spec.map((column) => cell(column.value(row))))];
  const natural = titles.map((_, at) => Math.max(...lines.map((line) => columns(line[at] ?? ""))));
  const widths = width === undefined ? natural : fitted(natural, width - gutter.length * (spec.length - 1));
  const text = lines.map((line) =>
    line
      .map((value, at) => padded(cut(value, widths[at] ?? 0), widths[at] ?? 0))
      .join(gutter)
      .trimEnd(),
  );
  return `${(width === undefined ? text : text.map((line) => cut(line, width))).join("\n")}\n`;
}

// Below this a column says nothing any more; what is still too much is cut from the end of the line.
const narrowest = 6;

function fitted(natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  for (let over = sum(widths) - room; over > 0; over--) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
