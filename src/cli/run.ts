import { setMaxListeners } from "node:events";
import { asFault, Fault } from "../errors.js";
import { quote } from "../quote.js";
import { faultData } from "../ui/errors.js";
import { json as asJson } from "../ui/format.js";
import type { InStream, OutStream } from "../ui/streams.js";
import { Terminal } from "../ui/terminal.js";
import type { Context } from "./command.js";
import { createContext } from "./context.js";
import type { Globals } from "./globals.js";
import { type Parsed, parse } from "./parse.js";

/** Everything clm touches of the process it runs in. Tests bring their own. */
export interface World {
  stdin: () => InStream;
  stdout: OutStream;
  stderr: OutStream;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  /** Aborted when a person or the system asks clm to stop. */
  signal: AbortSignal;
  /** How long a command may take to stop after that; it may ask for more. */
  stopLimit?: StopLimit;
  /** Rejects with what nobody caught. */
  crash?: Promise<never>;
}

export interface StopLimit {
  milliseconds: number;
}

/** What a shell reports for a program whose reader went away: 128 and the number of SIGPIPE. */
const readerGone = 141;

/** Runs one command line and returns the exit code. */
export async function runCli(argv: string[], world: World): Promise<number> {
  const { stdin, stdout, stderr, env } = world;
  // Longer lines than this are hard to read. A terminal that does not know its size says 0.
  const asked = await understood(argv, Math.min(stdout.columns || 80, 100));
  const flags = "globals" in asked ? asked.globals : guessed(argv);
  const json = flags.format === "json";
  const structured = json || flags.format === "yaml";
  const closed = new AbortController();
  const signal = AbortSignal.any([world.signal, closed.signal]);
  // Every host that is asked at once listens.
  setMaxListeners(0, signal);
  const onOutputClosed = () => closed.abort(new Fault("interrupted", "the reader of the output went away"));
  const terminal = new Terminal({ stdin, stdout, stderr, env, flags, structured, signal, onOutputClosed });
  let endless = false;
  const untilStopped = () => {
    endless = true;
  };
  const tellStop = () => {
    if (endless) return;
    if (!structured || stderr.isTTY) terminal.say("stopping safely; press Ctrl-C again to stop at once");
  };
  world.signal.addEventListener("abort", tellStop, { once: true });
  const overdue = stopOverdue(world);

  async function work(): Promise<number> {
    if (asked.kind === "fault") throw asked.fault;
    if (asked.kind === "print") {
      terminal.out(asked.text);
      return 0;
    }
    const context = await createContext(terminal, asked.globals, {
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
    const run = runOf(await asked.command.load(), asked.command.path);
    const ended = run(asked.input, context);
    return (await Promise.race([ended, overdue, ...(world.crash ? [world.crash] : [])])) ?? 0;
  }

  try {
    const code = await work();
    await terminal.close();
    return terminal.outputClosed ? readerGone : code;
  } catch (error) {
    await terminal.close().catch(() => {});
    if (terminal.outputClosed) return readerGone;
    const again = asked.kind === "run" && asked.command.mutates ? typed(argv) : undefined;
    const fault = signal.aborted ? interrupted(error, again) : asFault(error);
    if (fault.flag === "--yes" && fault.next.length === 0) fault.next.push(typed(["--yes", ...argv]));
    if (json) terminal.data(faultData(fault, flags.debug), asJson, "stderr");
    else terminal.fault(fault);
    return fault.exit;
  } finally {
    world.signal.removeEventListener("abort", tellStop);
  }
}

/** Rejects when a command that was asked to stop has not stopped in time: a host may never answer. */
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

async function understood(argv: string[], width: number): Promise<Parsed | { kind: "fault"; fault: unknown }> {
  try {
    return await parse(argv, width);
  } catch (fault) {
    return { kind: "fault", fault };
  }
}

/** How to speak about a command line that was not understood. */
function guessed(argv: string[]): Pick<Globals, "quiet" | "debug" | "noColor" | "yes" | "format"> {
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

function runOf(module: object, path: string): RunCommand {
  if ("run" in module && typeof module.run === "function") return module.run as RunCommand;
  throw new Error(`the code of 'clm ${path}' exports no run`);
}

/** Whatever a command ended with after it was asked to stop: it was stopped. */
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
