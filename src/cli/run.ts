import { setMaxListeners } from "node:events";
import { asFault, Fault } from "../errors.js";
import { quote } from "../quote.js";
import { faultData } from "../ui/errors.js";
import { json as asJson } from "../ui/format.js";
import type { InStream, OutStream } from "../ui/streams.js";
import { Terminal } from "../ui/terminal.js";
import type { Command, Context } from "./command.js";
import { createContext } from "./context.js";
import type { Globals } from "./globals.js";
import { lastWord } from "./nouns.js";
import { type Parsed, parse } from "./parse.js";

/** The process clm runs in. Tests pass their own. */
export interface World {
  stdin: () => InStream;
  stdout: OutStream;
  stderr: OutStream;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  /** Aborted by Ctrl-C, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** How long a command may take to stop after that. A command may extend it. */
  stopLimit?: StopLimit;
  /** Rejects with an uncaught error. */
  crash?: Promise<never>;
}

export interface StopLimit {
  milliseconds: number;
}

/** The exit code of a program that was ended by SIGPIPE. */
const outputClosedExit = 141;

export async function runCli(argv: string[], world: World): Promise<number> {
  const { stdin, stdout, stderr, env } = world;
  // Longer lines are hard to read. A terminal of unknown size reports 0.
  const parsed = await tryParse(argv, Math.min(stdout.columns || 80, 100));
  const flags = "globals" in parsed ? parsed.globals : guessOptions(argv);
  const json = flags.format === "json";
  const structured = json || flags.format === "yaml";
  const closed = new AbortController();
  const signal = AbortSignal.any([world.signal, closed.signal]);
  // Every concurrent host adds a listener.
  setMaxListeners(0, signal);
  const onOutputClosed = () => closed.abort(new Fault("interrupted", "the reader of the output closed it"));
  const terminal = new Terminal({ stdin, stdout, stderr, env, flags, structured, signal, onOutputClosed });
  let endless = false;
  const untilStopped = () => {
    endless = true;
  };
  const printStopping = () => {
    if (endless) return;
    if (!structured || stderr.isTTY) terminal.say("stopping safely; press Ctrl-C again to stop at once");
  };
  world.signal.addEventListener("abort", printStopping, { once: true });
  const overdue = stopOverdue(world);

  async function work(): Promise<number> {
    if (parsed.kind === "fault") throw parsed.fault;
    if (parsed.kind === "print") {
      terminal.out(parsed.text);
      return 0;
    }
    const context = await createContext(terminal, parsed.globals, {
      env,
      now: world.now,
      signal,
      argv,
      stdin,
      untilStopped,
      mayTakeToStop: (milliseconds) => {
        if (world.stopLimit) world.stopLimit.milliseconds = milliseconds;
      },
    });
    const handler = await handlerOf(parsed.command);
    const ended = handler(parsed.input, context);
    return (await Promise.race([ended, overdue, ...(world.crash ? [world.crash] : [])])) ?? 0;
  }

  try {
    const code = await work();
    await terminal.close();
    return terminal.outputClosed ? outputClosedExit : code;
  } catch (error) {
    await terminal.close().catch(() => {});
    if (terminal.outputClosed) return outputClosedExit;
    const again = parsed.kind === "run" && parsed.command.mutates ? typed(argv) : undefined;
    const fault = signal.aborted ? interrupted(error, again) : asFault(error);
    if (fault.flag === "--yes" && fault.next.length === 0) fault.next.push(typed(["--yes", ...argv]));
    if (json) terminal.data(faultData(fault, flags.debug), asJson, "stderr");
    else terminal.fault(fault);
    return fault.exit;
  } finally {
    world.signal.removeEventListener("abort", printStopping);
  }
}

/** Rejects when a command has not stopped in time: a host may never answer. */
function stopOverdue({ signal, stopLimit }: World): Promise<never> {
  const overdue = new Promise<never>((_, reject) => {
    if (!stopLimit) return;
    const late = () =>
      reject(
        new Fault("interrupted", "stopped before it was done", {
          why: `it had not stopped by itself after ${stopLimit.milliseconds / 1000} s`,
        }),
      );
    signal.addEventListener("abort", () => void setTimeout(late, stopLimit.milliseconds), { once: true });
  });
  overdue.catch(() => {});
  return overdue;
}

const typed = (argv: string[]): string => ["clm", ...argv.map(quote)].join(" ");

async function tryParse(argv: string[], width: number): Promise<Parsed | { kind: "fault"; fault: unknown }> {
  try {
    return await parse(argv, width);
  } catch (fault) {
    return { kind: "fault", fault };
  }
}

/** The output options of a command line that could not be parsed. */
function guessOptions(argv: string[]): Pick<Globals, "quiet" | "debug" | "noColor" | "yes" | "format"> {
  const words = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const has = (...options: string[]) => options.some((option) => words.includes(option));
  return {
    quiet: has("-q", "--quiet"),
    debug: has("--debug"),
    noColor: has("--no-color"),
    yes: false,
    format: /(^| )(-o|--output)[ =]?json( |$)/.test(words.join(" ")) ? "json" : "table",
  };
}

type RunCommand = (input: unknown, clm: Context) => Promise<number | undefined>;

/** Verbs that share a module have handlers of their names; the handler of a lone one is called `run`. */
export async function handlerOf({ load, path }: Command): Promise<RunCommand> {
  const module = (await load()) as Record<string, RunCommand | undefined>;
  const handler = module.run ?? module[lastWord(path)];
  if (handler) return handler;
  throw new Error(`the module of 'clm ${path}' does not export its handler`);
}

/** The error of a command after Ctrl-C, whatever it failed with. */
function interrupted(error: unknown, again: string | undefined): Fault {
  const fault = asFault(error);
  if (fault.fault === "interrupted" && (fault.next.length > 0 || !again)) return fault;
  const expected = fault.fault === "interrupted" || (error instanceof Error && error.name === "AbortError");
  return new Fault("interrupted", fault.fault === "interrupted" ? fault.message : "stopped before it was done", {
    why: expected ? fault.why : [fault.message, ...fault.why],
    ...(again && { next: again }),
    cause: error,
  });
}
