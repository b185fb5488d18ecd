import { asFault, Fault } from "../errors.js";
import { converge, mustSucceed, type Report } from "../remote/operations/converge.js";
import type { Operation } from "../remote/operations/operation.js";
import type { Shell } from "../remote/process.js";
import { beginAudit, endAudit, type Outcome } from "../state/audit/write.js";
import { openConfigDir } from "../state/config-dir.js";
import type { Setting } from "./session.js";

/** Something about to be done, as a person would say it. */
export interface Action {
  /** The verb: `host add`. */
  verb: string;
  /** What it is done to: a host's or an agent's name. */
  target: string;
  /** Completes "would …" in a dry run: `add host lab-1`. */
  summary: string;
  /** Asked first when the deed destroys; `--yes` answers it. */
  question?: string;
  /** The question is answered by typing this, not by yes: for what cannot be had back. */
  typed?: string;
}

/** Changes hosts on behalf of an action that has passed the gate. */
export interface Executor {
  /** Brings a host to what the operations say. With `goOn` a failure is told in the report and not thrown. */
  converge(root: Shell, operations: Operation[], options?: { continueOnError?: boolean }): Promise<Report>;
}

/**
 * Every change passes here, on this machine and on hosts. A dry run stops here, a destroying deed is asked about here,
 * and what passes is in the audit log before it begins and after it ended. If the log cannot be written, nothing begins.
 */
export interface Gate {
  readonly dryRun: boolean;
  /** Does the deed, or in a dry run says it and returns nothing. `judge` says how a deed ended that threw nothing. */
  pass<T>(
    action: Action,
    work: (executor: Executor) => Promise<T>,
    judge?: (result: T) => Outcome,
  ): Promise<T | undefined>;
  /** Brings a host to what the operations say; in a dry run only looks. */
  converge(action: Action, root: Shell, operations: Operation[]): Promise<Report>;
}

export function createGate({ ui, configDir, yes, dryRun, signal, argv, now }: Setting): Gate {
  async function agree({ question, typed, summary }: Action): Promise<void> {
    if (!question || yes) return;
    const agreed = typed
      ? (await ui.ask({ message: question, flag: "--yes" })).trim() === typed
      : await ui.confirm({ message: question, flag: "--yes" });
    if (!agreed) throw new Fault("declined", `did not ${summary}`);
  }

  async function pass<T>(
    action: Action,
    work: (executor: Executor) => Promise<T>,
    judge = (_: T): Outcome => ({ result: "ok" }),
  ): Promise<T | undefined> {
    if (dryRun) {
      ui.note(`would ${action.summary}`);
      return undefined;
    }
    await agree(action);
    signal.throwIfAborted();
    openConfigDir(configDir);
    const { verb, target } = action;
    const begun = await beginAudit(
      configDir,
      { verb, target, argv: auditable(argv).map((word) => ui.redact(word)) },
      now,
    );
    let result: T;
    try {
      result = await work(executorFor(action));
    } catch (error) {
      const { fault, code } = asFault(error);
      const outcome: Outcome = { result: fault === "interrupted" ? "interrupted" : "failed", fault: code };
      // Why the work failed is what the user must hear, also when the log cannot be written any more.
      await endAudit(configDir, begun, outcome, now).catch((trouble) => ui.warn(asFault(trouble).message));
      throw error;
    }
    await endAudit(configDir, begun, judge(result), now);
    return result;
  }

  const executorFor = (action: Action): Executor => ({
    async converge(root, operations, { continueOnError = false } = {}) {
      const report = await converge(root, operations, { mode: "apply", signal });
      return continueOnError ? report : mustSucceed(report, hostIn(action));
    },
  });

  return {
    dryRun,
    pass,
    async converge(action, root, operations) {
      if (dryRun) return converge(root, operations, { mode: "check", signal });
      return (await pass(action, (executor) => executor.converge(root, operations))) as Report;
    },
  };
}

/** A deed on an agent names its host first: `wolf-i/hermes-test`. */
const hostIn = ({ target }: Action): string | undefined => /^([^/]+)\/[^/]+$/.exec(target)?.[1];

/** The words typed, without what was to be run on a host: that may hold anything, so only the program is named. */
export function auditable(argv: string[]): string[] {
  const at = argv.indexOf("--");
  if (at < 0) return argv;
  const program = programOf(argv.slice(at + 1));
  return [...argv.slice(0, at + 1), program];
}

/** The program of a command line: its first word that sets no variable. */
export function programOf(command: string[]): string {
  const words = command.join(" ").split(/\s+/);
  return words.find((word) => word !== "" && !word.includes("=")) ?? "…";
}
