import { asFault, Fault } from "../errors.js";
import { converge } from "../remote/operations/converge.js";
import type { Operation } from "../remote/operations/operation.js";
import { mustSucceed, type Report, type Result, reportOn } from "../remote/operations/report.js";
import type { Shell } from "../remote/process.js";
import { beginAudit, endAudit, type Outcome } from "../state/audit/write.js";
import { openConfigDir } from "../state/config-dir.js";
import type { Setting } from "./session.js";

export interface Action {
  /** `agent start` */
  verb: string;
  target: string;
  /** Completes "would …" in a dry run: `add host lab-1`. */
  summary: string;
  /** Asked first when the action destroys something; `--yes` answers it. */
  question?: string;
  /** The word that has to be typed as the answer, for what cannot be restored. */
  typed?: string;
}

/** Changes hosts on behalf of an action that has passed the gate. */
export interface Executor {
  /** Applies the operations to a host. With `continueOnError` each is tried, and the report has the failures. */
  converge(root: Shell, operations: Operation[], options?: { continueOnError?: boolean }): Promise<Report>;
}

/** An action in progress: its begin is in the audit log, and `close` or `fail` writes its end. */
export interface OpenAction extends Executor {
  close(outcome: Outcome): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/**
 * Every change passes here, on this machine and on hosts. A dry run stops here, a destructive action is confirmed here,
 * and the audit log has an entry before the action begins and one after it ended. Without an audit log nothing begins.
 */
export interface Gate {
  readonly dryRun: boolean;
  /** Begins the action; in a dry run prints what it would do and returns nothing. */
  open(action: Action): Promise<OpenAction | undefined>;
  /** Opens, works and closes. `judge` gives the outcome of work that did not throw. */
  pass<T>(
    action: Action,
    work: (executor: Executor) => Promise<T>,
    judge?: (result: T) => Outcome,
  ): Promise<T | undefined>;
  /** What the operations would change on a host. */
  compare(root: Shell, operations: Operation[]): Promise<Report>;
}

export function createGate({ ui, configDir, yes, dryRun, signal, argv, now }: Setting): Gate {
  async function agree({ question, typed, summary }: Action): Promise<void> {
    if (!question || yes) return;
    const agreed = typed
      ? (await ui.ask({ message: question, flag: "--yes" })).trim() === typed
      : await ui.confirm({ message: question, flag: "--yes" });
    if (!agreed) throw new Fault("declined", `did not ${summary}`);
  }

  async function open(action: Action): Promise<OpenAction | undefined> {
    if (dryRun) {
      ui.note(`would ${action.summary}`);
      return undefined;
    }
    await agree(action);
    signal.throwIfAborted();
    openConfigDir(configDir);
    const { verb, target } = action;
    const words = auditable(argv).map((word) => ui.redact(word));
    const begun = await beginAudit(configDir, { verb, target, argv: words }, now);
    return {
      async converge(root, operations, { continueOnError = false } = {}) {
        const apply = (some: Operation[]) => converge(root, some, { mode: "apply", signal });
        if (!continueOnError) return mustSucceed(await apply(operations), hostIn(action));
        const results = new Map<number, Result>();
        for (const [index, operation] of operations.entries())
          for (const result of (await apply([operation])).results) results.set(index, { ...result, index });
        return reportOn(operations, results);
      },
      close: (outcome) => endAudit(configDir, begun, outcome, now),
      async fail(error) {
        const { fault, code } = asFault(error);
        const outcome: Outcome = { result: fault === "interrupted" ? "interrupted" : "failed", fault: code };
        // The user must learn why the work failed, even when the log cannot be written any more.
        await endAudit(configDir, begun, outcome, now).catch((trouble) => ui.warn(asFault(trouble).message));
      },
    };
  }

  async function pass<T>(
    action: Action,
    work: (executor: Executor) => Promise<T>,
    judge = (_: T): Outcome => ({ result: "ok" }),
  ): Promise<T | undefined> {
    const opened = await open(action);
    if (!opened) return undefined;
    let result: T;
    try {
      result = await work(opened);
    } catch (error) {
      await opened.fail(error);
      throw error;
    }
    await opened.close(judge(result));
    return result;
  }

  return {
    dryRun,
    open,
    pass,
    compare: (root, operations) => converge(root, operations, { mode: "check", signal }),
  };
}

const hostIn = ({ target }: Action): string | undefined => /^([^/]+)\/[^/]+$/.exec(target)?.[1];

/** Text after `--` may hold secrets, so only the program's name is kept of it. */
export function auditable(argv: string[]): string[] {
  const at = argv.indexOf("--");
  if (at < 0) return argv;
  const program = programOf(argv.slice(at + 1));
  return [...argv.slice(0, at + 1), program];
}

/** The program of a command line: its first word that is not a `NAME=value`. */
export function programOf(command: string[]): string {
  const words = command.join(" ").split(/\s+/);
  return words.find((word) => word !== "" && !word.includes("=")) ?? "…";
}
