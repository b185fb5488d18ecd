import type { Session } from "../flows/session.js";
import type { Screen } from "../ui/screen.js";
import type { InStream } from "../ui/streams.js";
import type { Column } from "../ui/table.js";
import type { Ui } from "../ui/ui.js";

/** Help, completion, reference and parser derive from these values. Code loads when it runs: help stays fast. */

/** Kinds of names that completion looks up. */
export type NameKind =
  | "host"
  | "host-pattern"
  | "lab"
  | "lab-host"
  | "agent"
  | "provider"
  | "provider-type"
  | "agent-type"
  | "version"
  | "runtime-version"
  | "channel"
  | "mcp-server"
  | "open-field"
  | "secret-field"
  | "auxiliary-task"
  | "memory-file";
/** The shell completes paths by itself. */
export type Completes = NameKind | "file" | "directory";

interface Spec<Value> {
  summary: string;
  completes?: Completes;
  /** Never set: carries the type of the value that the handler receives. */
  readonly value?: Value;
}

export interface OptionSpec<Value = unknown> extends Spec<Value> {
  kind: "flag" | "text" | "number" | "list" | "choice";
  /** Shown as `--port PORT`. */
  placeholder?: string;
  short?: string;
  choices?: readonly string[];
  /** Limits of a number, which is always an integer. */
  min?: number;
  max?: number;
  default?: Value;
  /** Accepted for old scripts; not in help, completion or the reference. */
  hidden?: boolean;
}

export interface ArgSpec<Value = unknown> extends Spec<Value> {
  /** `command`: everything after `--`, a command line for another machine, passed on unchanged. */
  kind: "required" | "optional" | "rest" | "command";
  choices?: readonly string[];
}

type Extra = { short?: string; completes?: Completes };
type Preset<Default> = Extra & { default?: Default };

export const flag = (summary: string, extra: Extra = {}): OptionSpec<boolean> => ({ kind: "flag", summary, ...extra });
/** A flag for the default behaviour, kept for old scripts. */
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
  extra: Preset<D> & { min?: number; max?: number } = {},
): OptionSpec<number | D> => ({ kind: "number", placeholder, summary, ...extra });

/** A TCP port to connect to or to listen on. */
export const port = (summary: string): OptionSpec<number | undefined> =>
  number("PORT", summary, { min: 1, max: 65535 });

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

export const oneOf = <const C extends readonly string[]>(choices: C, summary: string): ArgSpec<C[number]> => ({
  kind: "required",
  choices,
  summary,
});

export type Format = "table" | "json" | "yaml" | "name";
type Args = Record<string, ArgSpec>;
type Options = Record<string, OptionSpec>;
export type OptionValues<S> = { [K in keyof S]: S[K] extends Spec<infer V> ? V : never };

export interface Command<A extends Args = Args, O extends Options = Options> {
  /** The words after `clm`, e.g. `host add`. */
  path: string;
  summary: string;
  description?: string;
  args?: A;
  options?: O;
  /** The formats of `-o`, the default first. A command without formats has no `-o`. */
  formats?: readonly Format[];
  /** Recorded in the audit log, and has --dry-run. */
  mutates?: boolean;
  hidden?: boolean;
  /** Command lines, each with an optional comment: `clm audit --last 20   # the newest`. */
  examples: string[];
  /**
   * Exports the handler: `run`, or the verb's name where several share a module. Typed loosely: the handler's type is
   * derived from this declaration. A test loads every module.
   */
  load: () => Promise<object>;
}

export interface Input<A, O> {
  args: OptionValues<A>;
  options: OptionValues<O>;
}

/** The type of a command's handler: `export const run: Handler<typeof add> = async ({ args, options }, clm) => …` */
export type Handler<C> =
  C extends Command<infer A, infer O> ? (input: Input<A, O>, clm: Context) => Promise<ExitCode> | Promise<void> : never;

/** None means 0. */
export type ExitCode = number | undefined;

export const command = <A extends Args = Record<never, never>, O extends Options = Record<never, never>>(
  spec: Command<A, O>,
): Command<A, O> => spec;

export interface Verbs {
  commands: Command[];
  /** Nouns of its own: the `agent memory` of `clm agent memory show`. */
  nouns?: Noun[];
}

/** A noun is a folder of `cli/`. */
export interface Noun extends Verbs {
  /** The words after `clm`: `agent`, or `agent memory` for a noun within a noun. */
  name: string;
  summary: string;
  /** In earlier versions the verb came last: the words that are verbs, and the verb of a line without one. */
  verbLast?: { verbs: Record<string, string>; otherwise?: string };
}

export interface View<Row> {
  columns: Column<Row>[];
  /** Lines below the table, never cut, for text that is too long for a cell. */
  details?: (row: Row) => string[];
  /** A row for JSON and YAML; default: the row itself. */
  data?: (row: Row) => unknown;
  /** A row for `-o name`. */
  name: (row: Row) => string;
  /** Printed instead of an empty table. */
  empty?: string;
}

export interface Context {
  ui: Ui;
  /** The config directory: `--config-dir`, `$CLM_HOME`, `$XDG_CONFIG_HOME/clawrium` or `~/.config/clawrium`. */
  configDir: string;
  /** The config directory if it is not the default: printed commands then need --config-dir. */
  elsewhere?: string;
  format: Format;
  /** Aborted by the first Ctrl-C. */
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  yes: boolean;
  dryRun: boolean;
  /** Of commands that log in to hosts; see `sudoOption`. */
  sudoPasswordFile: string | undefined;
  argv: string[];
  /** A function, because opening stdin has side effects. */
  stdin: () => InStream;
  /** Set if stdout is a terminal. */
  screen: Screen | undefined;
  /** From now on Ctrl-C is the normal end of the command, and prints no "stopping safely". */
  untilStopped(): void;
  /** How long the command may take to clean up after the first Ctrl-C. */
  mayTakeToStop(milliseconds: number): void;
  /** Runs the work with what flows need. Loaded late: help and completion contact no host. */
  withSession<T>(work: (session: Session) => Promise<T>): Promise<T>;
  list<Row>(rows: Row[], view: View<Row>): void;
  /** Prints one value as JSON or YAML, or as `text` for a person. */
  show(value: unknown, text?: () => string): void;
}
