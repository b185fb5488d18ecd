import { asFault, Fault } from "../errors.js";
import { converge, mustSucceed, type Report, type Result } from "../remote/operations/converge.js";
import type { Operation } from "../remote/operations/operation.js";
import type { Shell } from "../remote/process.js";
import { beginAudit, endAudit, type Outcome } from "../state/audit.js";
import { openConfigDir } from "../state/config-dir.js";
import { openJournal } from "../state/journal.js";
import type { Setting } from "./session.js";

/** Something about to be done, as a person would say it. */
export interface Deed {
  /** The verb: `host add`. */
  verb: string;
  /** What it is done to: a host's or an agent's name. */
  target: string;
  /** Completes "would …" in a dry run: `add host lab-1`. */
  summary: string;
  /** Asked first when the deed destroys; `--yes` answers it. */
  question?: string;
}

/**
 * Every change passes here, on this machine and on hosts. A dry run stops here, a destroying deed is asked about here,
 * and what passes is in the audit log before it begins and after it ended. If the log cannot be written, nothing begins.
 */
export interface Gate {
  readonly dryRun: boolean;
  /** Does the deed, or in a dry run says it and returns nothing. `judge` says how a deed ended that threw nothing. */
  pass<T>(deed: Deed, work: () => Promise<T>, judge?: (result: T) => Outcome): Promise<T | undefined>;
  /** Brings a host to what the operations say; in a dry run only looks. Each result is in the journal. */
  converge(deed: Deed, root: Shell, operations: Operation[]): Promise<Report>;
}

export function createGate({ ui, configDir, yes, dryRun, signal, argv, now }: Setting): Gate {
  async function pass<T>(deed: Deed, work: () => Promise<T>, judge = (_: T): Outcome => ({ result: "ok" })) {
    if (dryRun) {
      ui.note(`would ${deed.summary}`);
      return undefined;
    }
    if (deed.question && !yes && !(await ui.confirm({ message: deed.question, flag: "--yes" }))) {
      throw new Fault("declined", `did not ${deed.summary}`);
    }
    signal.throwIfAborted();
    openConfigDir(configDir);
    const { verb, target } = deed;
    const begun = await beginAudit(
      configDir,
      { verb, target, argv: auditable(argv).map((word) => ui.redact(word)) },
      now,
    );
    let result: T;
    try {
      result = await work();
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

  return {
    dryRun,
    pass,
    async converge(deed, root, operations) {
      if (dryRun) return converge(root, operations, { mode: "check", signal });
      const report = await pass(deed, async () => {
        const journal = openJournal(configDir, deed, now);
        const onResult = ({ id, status, why }: Result) =>
          journal.note({ id, result: status, why: why && ui.redact(why) });
        const applied = converge(root, operations, { mode: "apply", signal, onResult }).then(mustSucceed);
        const outcome = await applied.catch((error) => {
          journal.close("failed");
          throw error;
        });
        journal.close("ok");
        return outcome;
      });
      return report as Report;
    },
  };
}

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
