import { columns, cut, padded } from "./columns.js";
import type { Paint } from "./paint.js";
import { oneLine } from "./plain.js";

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  /** Never cut: half a name, address or command is useless. */
  whole?: boolean;
  /** Dropped when a row does not fit, smallest number first. */
  drop?: number;
  /** Other columns are dropped before this one is cut below this width. */
  least?: number;
  /** Colours the cell; its text must be clear without. */
  style?: (row: Row) => keyof Paint | undefined;
}

const gutter = "   ";

export interface TableOptions {
  /** The terminal's columns: rows are made to fit by dropping columns, then by cutting the widest. */
  width?: number | undefined;
  /** Redacts a cell and puts it on one line. Applied before cutting: half a secret would not be recognised. */
  clean?: (text: string) => string;
  paint?: Paint | undefined;
}

/** Rows under upper-case titles. Without a width nothing is cut, for scripts. */
export function table<Row>(rows: readonly Row[], spec: readonly Column<Row>[], options: TableOptions = {}): string {
  const { width, clean = oneLine, paint } = options;
  const cell = (value: string | number | undefined) => clean(String(value ?? "")) || "-";
  const natural = spec.map(({ title, value, whole = false, drop, least = readable, style }) => {
    const cells = [title.toUpperCase(), ...rows.map((row) => cell(value(row)))];
    const styles = [undefined, ...rows.map((row) => style?.(row))];
    return { cells, styles, whole, drop, least, width: Math.max(...cells.map(columns)) };
  });
  const shown = width === undefined ? natural : narrowColumns(dropColumns(natural, width), width);
  const line = (at: number) => shown.map(({ cells, width: room }) => padded(cut(cells[at] ?? "", room), room));
  const painted = (at: number) => {
    const cells = line(at).map((text, column) => {
      const style = shown[column]?.styles[at];
      return style && paint ? text.replace(/^.*\S/, paint[style]) : text;
    });
    return cells.join(gutter).trimEnd();
  };
  // A whole cell that does not fit is wrapped by the terminal; of the cells after it, `…` is left.
  const needed = total(shown.slice(0, shown.findLastIndex(({ whole }) => whole) + 1)) + gutter.length + 1;
  const end = width && Math.max(width, needed);
  const fit = (at: number): string => {
    const text = line(at).join(gutter).trimEnd();
    // A line that has to be cut has no colours: their end could be cut off.
    return end && columns(text) > end ? cut(text, end) : painted(at);
  };
  return `${Array.from({ length: rows.length + 1 }, (_, at) => fit(at)).join("\n")}\n`;
}

interface MeasuredColumn {
  cells: string[];
  styles: (keyof Paint | undefined)[];
  whole: boolean;
  drop: number | undefined;
  least: number;
  width: number;
}

const total = (all: readonly MeasuredColumn[]): number =>
  all.reduce((sum, { width }) => sum + width, gutter.length * Math.max(0, all.length - 1));

// A long text cut to this is still useful: no other column is dropped for more of it.
const readable = 20;

function dropColumns(all: MeasuredColumn[], room: number): MeasuredColumn[] {
  const drops = all.flatMap(({ drop }) => drop ?? []);
  const needed = total(
    all.map((column) => ({ ...column, width: column.whole ? column.width : Math.min(column.width, column.least) })),
  );
  if (needed <= room || drops.length === 0) return all;
  const least = all.findLastIndex(({ drop }) => drop === Math.min(...drops));
  return dropColumns(all.toSpliced(least, 1), room);
}

// A narrower column is useless.
const narrowest = 6;

function narrowColumns(all: MeasuredColumn[], room: number): MeasuredColumn[] {
  const result = all.map((column) => ({ ...column }));
  for (let over = total(all) - room; over > 0; over--) {
    const widest = Math.max(...result.filter(({ whole }) => !whole).map(({ width }) => width));
    const column = result.findLast(({ whole, width }) => !whole && width === widest);
    if (!column || widest <= narrowest) break;
    column.width--;
  }
  return result;
}
