import { columns, cut, padded } from "./columns.js";
import { oneLine } from "./plain.js";

/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  /** Never cut: half a name, an address or a command is of no use. */
  whole?: boolean;
  /** Left out when a row does not fit; of several, the one with the smallest number first. */
  drop?: number;
}

const gutter = "   ";

export interface TableOptions {
  /** The terminal's columns, when there is one: a row is made to fit. Columns are left out first, then the widest cut. */
  width?: number | undefined;
  /** What may be shown of a cell, on one line. Comes before cutting: half a secret is not recognised any more. */
  clean?: (text: string) => string;
}

/** Rows under upper-case titles, without lines around them. Without a width nothing is cut: scripts read it all. */
export function table<Row>(rows: readonly Row[], spec: readonly Column<Row>[], options: TableOptions = {}): string {
  const { width, clean = oneLine } = options;
  const cell = (value: string | number | undefined) => clean(String(value ?? "")) || "-";
  const natural = spec.map(({ title, value, whole = false, drop }) => {
    const cells = [title.toUpperCase(), ...rows.map((row) => cell(value(row)))];
    return { cells, whole, drop, width: Math.max(...cells.map(columns)) };
  });
  const shown = width === undefined ? natural : narrowed(withoutTheLeast(natural, width), width);
  const line = (at: number) => shown.map(({ cells, width: room }) => padded(cut(cells[at] ?? "", room), room));
  const lines = Array.from({ length: rows.length + 1 }, (_, at) => line(at).join(gutter).trimEnd());
  // What must stay whole is wrapped by the terminal rather than cut; of what stands after it, `…` is left.
  const needed = total(shown.slice(0, shown.findLastIndex(({ whole }) => whole) + 1)) + gutter.length + 1;
  const end = width && Math.max(width, needed);
  return `${lines.map((text) => (end ? cut(text, end) : text)).join("\n")}\n`;
}

interface Measured {
  cells: string[];
  whole: boolean;
  drop: number | undefined;
  width: number;
}

const total = (all: readonly Measured[]): number =>
  all.reduce((sum, { width }) => sum + width, gutter.length * Math.max(0, all.length - 1));

// Cut to this, a long text still says something: no other column has to go for the rest of it.
const readable = 20;

function withoutTheLeast(all: Measured[], room: number): Measured[] {
  const drops = all.flatMap(({ drop }) => drop ?? []);
  const needed = total(
    all.map((column) => ({ ...column, width: column.whole ? column.width : Math.min(column.width, readable) })),
  );
  if (needed <= room || drops.length === 0) return all;
  const least = all.findLastIndex(({ drop }) => drop === Math.min(...drops));
  return withoutTheLeast(all.toSpliced(least, 1), room);
}

// Below this a column says nothing any more.
const narrowest = 6;

function narrowed(all: Measured[], room: number): Measured[] {
  const result = all.map((column) => ({ ...column }));
  for (let over = total(all) - room; over > 0; over--) {
    const widest = Math.max(...result.filter(({ whole }) => !whole).map(({ width }) => width));
    const column = result.findLast(({ whole, width }) => !whole && width === widest);
    if (!column || widest <= narrowest) break;
    column.width--;
  }
  return result;
}
