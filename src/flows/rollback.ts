import { asFault } from "../errors.js";
import type { Session } from "./session.js";
import { withProgress } from "./with-progress.js";

export interface Rollback {
  title: string;
  /** What it says is added to the fault. */
  undo: () => Promise<string | undefined>;
}

/** Undoes changes in this order, until Ctrl-C; the fault that it returns says what became of each. */
export async function rollBack(session: Session, undos: Rollback[], error: unknown): Promise<unknown> {
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
