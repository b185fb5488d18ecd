import { columns, cut, padded } from "./columns.js";
import type { Paint } from "./paint.js";
import { oneLine } from "./plain.js";

/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  /** Never cut: half a name, an address or a command is of no use. */
  whole?: boolean;
  /** Left out when a row does not fit; of several, the one with the smallest number first. */
  drop?: number;
  /** Others are left out before this one has to be cut to less. */
  least?: number;
  /** How a cell looks where there are colours. It must say the same without. */
  style?: (row: Row) => keyof Paint | undefined;
}

const gutter = "   ";

export interface TableOptions {
  /** The terminal's columns, when there is one: a row is made to fit. Columns are left out first, then the widest cut. */
  width?: number | undefined;
  /** What may be shown of a cell, on one line. Comes before cutting: half a secret is not recognised any more. */
  clean?: (text: string) => string;
  paint?: Paint | undefined;
}

/** Rows under upper-case titles, without lines around them. Without a width nothing is cut: scripts read it all. */
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
  // What must stay whole is wrapped by the terminal rather than cut; of what stands after it, `…` is left.
  const needed = total(shown.slice(0, shown.findLastIndex(({ whole }) => whole) + 1)) + gutter.length + 1;
  const end = width && Math.max(width, needed);
  const fit = (at: number): string => {
    const text = line(at).join(gutter).trimEnd();
    // A line that has to be cut is shown without colours: where they end must not be cut off.
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

// Cut to this, a long text still says something: no other column has to go for the rest of it.
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

// Below this a column says nothing any more.
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
