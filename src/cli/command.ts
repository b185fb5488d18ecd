import type { Screen } from "../ui/screen.js";
import type { InStream } from "../ui/streams.js";
import type { Column } from "../ui/table.js";
import type { Ui } from "../ui/ui.js";

export type { Column } from "../ui/table.js";

/**
 * A command is a value. Help, completion, the reference page and the parser are all read from it; the code that does
 * the work is loaded only when the command is run, so that `clm --help` costs no more than bare Node.
 */

/** What can stand in a place, for completion. */
export type Completes =
  | "host"
  | "host-pattern"
  | "lab"
  | "lab-host"
  | "agent"
  | "provider"
  | "provider-type"
  | "agent-type"
  | "version"
  | "codex-version"
  | "channel"
  | "mcp-server"
  | "open-field"
  | "secret-field"
  | "auxiliary-task"
  | "memory-file"
  | "file"
  | "directory";

interface Spec<Value> {
  summary: string;
  completes?: Completes;
  /** Only for types: what the handler receives. */
  readonly value?: Value;
}

export interface OptionSpec<Value = unknown> extends Spec<Value> {
  kind: "flag" | "text" | "number" | "list" | "choice";
  /** Shown as `--port PORT`. */
  placeholder?: string;
  short?: string;
  choices?: readonly string[];
  /** Numbers are whole; these are the smallest and largest one allowed. */
  min?: number;
  max?: number;
  default?: Value;
  /** Accepted for old scripts; not in help, completion or the reference. */
  hidden?: boolean;
}

export interface ArgSpec<Value = unknown> extends Spec<Value> {
  /** `command` is what follows `--`: a command line for somewhere else, passed through untouched. */
  kind: "required" | "optional" | "rest" | "command";
  choices?: readonly string[];
}

type Extra = { short?: string; completes?: Completes };
type Preset<Default> = Extra & { default?: Default };
type Range = { min?: number; max?: number };

export const flag = (summary: string, extra: Extra = {}): OptionSpec<boolean> => ({ kind: "flag", summary, ...extra });

/** A flag that names the default. */
export const obsoleteFlag = (summary: string): OptionSpec<boolean> => ({ kind: "flag", summary, hidden: true });

/** The value is never undefined when the option has a default. */
export const text = <D extends string | undefined = undefined>(
  placeholder: string,
  summary: string,
  extra: Preset<D> = {},
): OptionSpec<string | D> => ({ kind: "text", placeholder, summary, ...extra });

export const number = <D extends number | undefined = undefined>(
  placeholder: string,
  summary: string,
  extra: Preset<D> & Range = {},
): OptionSpec<number | D> => ({ kind: "number", placeholder, summary, ...extra });

export const choice = <const C extends readonly string[], D extends C[number] | undefined = undefined>(
  placeholder: string,
  choices: C,
  summary: string,
  extra: Preset<D> = {},
): OptionSpec<C[number] | D> => ({ kind: "choice", placeholder, choices, summary, ...extra });

/** May be given several times. */
export const list = (placeholder: string, summary: string, extra: Extra = {}): OptionSpec<string[]> => ({
  kind: "list",
  placeholder,
  summary,
  ...extra,
});

const argument =
  <Value>(kind: ArgSpec["kind"]) =>
  (summary: string, completes?: Completes): ArgSpec<Value> => ({ kind, summary, ...(completes && { completes }) });

export const required = argument<string>("required");
export const optional = argument<string | undefined>("optional");
/** All remaining words, maybe none. Comes last, or before `commandLine`. */
export const rest = argument<string[]>("rest");
/** The words after `--`, at least one, unchanged. Comes last. */
export const commandLine = argument<string[]>("command");

/** One word out of a few. */
export const oneOf = <const C extends readonly string[]>(choices: C, summary: string): ArgSpec<C[number]> => ({
  kind: "required",
  choices,
  summary,
});

export type Format = "table" | "json" | "yaml" | "name";

type Args = Record<string, ArgSpec>;
type Options = Record<string, OptionSpec>;
type Values<S> = { [K in keyof S]: S[K] extends Spec<infer V> ? V : never };

export interface Example {
  /** What to type, without the prompt. */
  run: string;
  /** What it does, when that is not plain. */
  note?: string;
}

export interface Command<A extends Args = Args, O extends Options = Options> {
  /** The words after `clm`, e.g. `host add`. */
  path: string;
  summary: string;
  /** More than the summary, for the help of this command and the reference page. */
  description?: string;
  args?: A;
  options?: O;
  /** The formats `-o` takes here; none means there is nothing to format. The first is the default. */
  formats?: readonly Format[];
  /** Written to the audit log at begin and end. Read-only commands are not. */
  mutates?: boolean;
  hidden?: boolean;
  examples: Example[];
  /**
   * The module that exports `run: Handler<typeof thisCommand>`. It is typed loosely because the handler's type is read
   * from this declaration: a `run` here would make the two refer to each other. A test loads every one.
   */
  load: () => Promise<object>;
}

export interface Input<A, O> {
  args: Values<A>;
  options: Values<O>;
}

/** The type of a command's `run`: `export const run: Handler<typeof add> = async ({ args, options }, clm) => …` */
export type Handler<C> =
  C extends Command<infer A, infer O> ? (input: Input<A, O>, clm: Context) => Promise<ExitCode> | Promise<void> : never;

/** None means 0. */
export type ExitCode = number | undefined;

export const command = <A extends Args = Record<never, never>, O extends Options = Record<never, never>>(
  spec: Command<A, O>,
): Command<A, O> => spec;

/** What can be done with a noun. */
export interface Verbs {
  commands: Command[];
  /** Nouns of its own: the `agent memory` of `clm agent memory show`. */
  nouns?: Noun[];
}

/** A noun: a folder of `cli/`, with its verbs. */
export interface Noun extends Verbs {
  /** The words after `clm`, as in the path of its commands: `agent`, or `agent memory` for a noun within one. */
  name: string;
  summary: string;
  /** In earlier versions the verb came last: the words that are verbs, and the verb of a line without one. */
  verbLast?: { verbs: Record<string, string>; otherwise?: string };
}

export interface View<Row> {
  columns: Column<Row>[];
  /** Lines for a person below the table, for a row with more to say than a cell holds. They are never cut. */
  details?: (row: Row) => string[];
  /** What `-o json` and `-o yaml` print for a row, when that is not the row itself. */
  data?: (row: Row) => unknown;
  /** What `-o name` prints for a row. */
  name: (row: Row) => string;
  /** Said to a person when there is nothing to show. */
  empty?: string;
}

/** What a command's code is given. */
export interface Context {
  ui: Ui;
  /** The config directory: `--config-dir`, `$CLM_HOME`, `$XDG_CONFIG_HOME/clawrium` or `~/.config/clawrium`. */
  configDir: string;
  /** The same, when a clm typed without --config-dir would look in another place: a command to type must say it. */
  elsewhere?: string;
  format: Format;
  /** Aborted by the first Ctrl-C. */
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  /** `--yes`: questions that destroy are answered with yes. */
  yes: boolean;
  /** `--dry-run`: look, tell, change nothing. */
  dryRun: boolean;
  /** The words the user typed, for the audit log. */
  argv: string[];
  /** What was piped in. Opened only by a command that reads it. */
  stdin: () => InStream;
  /** The terminal that results go to, when a person looks at them there. */
  screen: Screen | undefined;
  /** From now on the command goes on until somebody stops it: that is its end, and nobody is told to wait. */
  untilStopped(): void;
  /** After the first Ctrl-C the command has work to finish on this machine, for at most so many milliseconds. */
  mayTakeToStop(milliseconds: number): void;
  /** Prints rows in the format asked for. */
  list<Row>(rows: Row[], view: View<Row>): void;
  /** Prints one value as JSON or YAML, or as `text` for a person. */
  show(value: unknown, text?: () => string): void;
}
