import { asFault, isFault } from "../errors.js";
import { sh } from "../quote.js";
import type { Report } from "../remote/operations/converge.js";
import type { Operation } from "../remote/operations/operation.js";
import type { Shell } from "../remote/process.js";
import type { Outcome } from "../state/audit/write.js";
import type { Progress } from "../ui/ui.js";
import type { Action, Executor, OpenAction } from "./gate.js";
import type { Session } from "./session.js";
import { withProgress } from "./with-progress.js";

/**
 * A verb is a list of titled phases, awaited one after the other, so that a phase can use what an earlier one returned:
 *
 *     const { root } = await check(session, "check ada", () => mustBeRunnable(session, agent));
 *     return flow(session, action, async ({ change, prove, record }) => {
 *       await record("ada should run", () => setRunning(session, agent));
 *       const report = await change("start ada.service", { root, operations });
 *       return prove("ada answers", () => proofsOf(agent), isProven);
 *     });
 *
 * All checks come before `flow`, where nothing has been changed yet. Progress lines, the dry run, the audit entry, the
 * command to resume with and the rollback come from the phases.
 */
export interface Phases {
  /** Applies operations to a host. A dry run compares and reports what would change. */
  change(title: string, work: HostChange, options?: { undo?: Undo<Report> }): Promise<Report>;
  /** Any other change. A dry run prints "would" and the title, and returns nothing. */
  change<T>(title: string, work: Work<T>, options?: { undo?: Undo<T> }): Promise<T | undefined>;
  /** Shows that the change had its effect. `holds` makes the audit entry "failed" for a result that does not. */
  prove<T>(
    title: string,
    work: (progress: Progress) => Promise<T>,
    holds?: (result: T) => boolean,
  ): Promise<T | undefined>;
  /** Writes state on this machine. The title is for the reader of the list and for --debug. */
  record<T>(title: string, work: () => Promise<T>): Promise<T | undefined>;
}

export interface HostChange {
  root: Shell;
  operations: Operation[];
  /** Try every operation; failures are in the report. */
  continueOnError?: boolean;
}

export type Work<T> = (executor: Executor, progress: Progress) => Promise<T>;

/** Undoes a change when a later phase fails, or itself (then without a result). Its text is added to the fault. */
export type Undo<T> = (executor: Executor, result: T | undefined) => Promise<string | undefined>;

/** Changes nothing; throws when a precondition fails. */
export const check = <T>(session: Session, title: string, work: (progress: Progress) => Promise<T>): Promise<T> =>
  withProgress(session.ui, title, work);

/**
 * The first change or record opens the gate for all phases; a verb that only proves leaves no audit entry. A failure
 * undoes changes in reverse order, except Ctrl-C: then the same command resumes. `detail` is kept in the audit log.
 */
export async function flow<T>(
  session: Session,
  action: Action,
  body: (phases: Phases) => Promise<T>,
  detail?: (result: T) => Record<string, unknown>,
): Promise<T> {
  const { gate, ui, signal } = session;
  const undos: Rollback[] = [];
  let opening: Promise<OpenAction | undefined> | undefined;
  let outcome: Outcome["result"] = "ok";
  const open = () => {
    opening ??= gate.open(action);
    return opening;
  };

  async function change<R>(title: string, work: Work<R> | HostChange, { undo }: { undo?: Undo<R> } = {}) {
    const executor = await open();
    if (!executor) {
      if (typeof work !== "function") return gate.compare(work.root, work.operations);
      ui.note(`would ${title}`);
      return undefined;
    }
    let result: R | undefined;
    if (undo) undos.unshift({ title, undo: () => undo(executor, result) });
    const run =
      typeof work === "function" ? work : () => executor.converge(work.root, work.operations, work) as Promise<R>;
    result = await withProgress(ui, title, (progress) => run(executor, progress)).catch(resumable(session));
    return result;
  }

  const phases: Phases = {
    change: change as Phases["change"],
    async prove(title, work, holds = () => true) {
      if (gate.dryRun) return undefined;
      const result = await withProgress(ui, title, work);
      if (!holds(result)) outcome = "failed";
      return result;
    },
    async record(title, work) {
      if (!(await open())) return undefined;
      ui.debug(`record: ${title}`);
      return work().catch(resumable(session));
    },
  };

  let result: T;
  try {
    result = await body(phases);
  } catch (error) {
    const opened = await opening?.catch(() => undefined);
    if (!opened) throw error;
    const fault = undos.length === 0 || signal.aborted ? error : await rollBack(session, undos, error);
    await opened.fail(fault);
    throw fault;
  }
  await (await opening)?.close({ result: outcome, ...(detail && { detail: detail(result) }) });
  return result;
}

const resumable =
  ({ argv }: Session) =>
  (error: unknown): never => {
    const again = sh`clm ${argv}`;
    if (!isFault(error) || error.next.includes(again)) throw error;
    throw error.with({ next: [again, ...error.next] });
  };

interface Rollback {
  title: string;
  /** What it says is added to the fault. */
  undo: () => Promise<string | undefined>;
}

/** Undoes changes in this order, until Ctrl-C; the fault that it returns says what became of each. */
async function rollBack(session: Session, undos: Rollback[], error: unknown): Promise<unknown> {
  const fault = asFault(error);
  const why = [...fault.why];
  for (const { title, undo } of undos) {
    if (session.signal.aborted) break;
    try {
      const note = await withProgress(session.ui, `undo: ${title}`, undo);
      why.push(`undone: ${title}${note ? `; ${note}` : ""}`);
    } catch (trouble) {
      const { message, why: reasons } = asFault(trouble);
      why.push(`could not be undone: ${title}: ${[message, ...reasons].join(": ")}`);
    }
  }
  return fault.with({ why });
}
