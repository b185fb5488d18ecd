import { asFault, Fault } from "../errors.js";
import { converge, mustSucceed, type Report, type Result } from "../remote/operations/converge.js";
import type { Operation } from "../remote/operations/operation.js";
import type { Shell } from "../remote/process.js";
import { beginAudit, endAudit, type Outcome } from "../state/audit.js";
import { openConfigDir } from "../state/config-dir.js";
import { type Journal, openJournal } from "../state/journal.js";
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
  /** The question is answered by typing this, not by yes: for what cannot be had back. */
  typed?: string;
}

/** What a deed changes hosts with. All of it is in one journal. */
export interface Works {
  /** Brings a host to what the operations say. With `goOn` a failure is told in the report and not thrown. */
  converge(root: Shell, operations: Operation[], options?: { goOn?: boolean }): Promise<Report>;
}

/**
 * Every change passes here, on this machine and on hosts. A dry run stops here, a destroying deed is asked about here,
 * and what passes is in the audit log before it begins and after it ended. If the log cannot be written, nothing begins.
 */
export interface Gate {
  readonly dryRun: boolean;
  /** Does the deed, or in a dry run says it and returns nothing. `judge` says how a deed ended that threw nothing. */
  pass<T>(deed: Deed, work: (works: Works) => Promise<T>, judge?: (result: T) => Outcome): Promise<T | undefined>;
  /** Brings a host to what the operations say; in a dry run only looks. Each result is in the journal. */
  converge(deed: Deed, root: Shell, operations: Operation[]): Promise<Report>;
}

export function createGate({ ui, configDir, yes, dryRun, signal, argv, now }: Setting): Gate {
  async function agree({ question, typed, summary }: Deed): Promise<void> {
    if (!question || yes) return;
    const agreed = typed
      ? (await ui.ask({ message: question, flag: "--yes" })).trim() === typed
      : await ui.confirm({ message: question, flag: "--yes" });
    if (!agreed) throw new Fault("declined", `did not ${summary}`);
  }

  async function pass<T>(
    deed: Deed,
    work: (works: Works) => Promise<T>,
    judge = (_: T): Outcome => ({ result: "ok" }),
  ): Promise<T | undefined> {
    if (dryRun) {
      ui.note(`would ${deed.summary}`);
      return undefined;
    }
    await agree(deed);
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
      result = await journaled(deed, work);
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

  /** The journal begins with the first change of a host: what happens on this machine alone needs none. */
  async function journaled<T>(deed: Deed, work: (works: Works) => Promise<T>): Promise<T> {
    let journal: Journal | undefined;
    const onResult = ({ id, status, why }: Result) => journal?.note({ id, result: status, why: why && ui.redact(why) });
    const works: Works = {
      async converge(root, operations, { goOn = false } = {}) {
        journal ??= openJournal(configDir, deed, now);
        const report = await converge(root, operations, { mode: "apply", signal, onResult });
        return goOn ? report : mustSucceed(report, hostIn(deed));
      },
    };
    const result = await work(works).catch((error) => {
      journal?.close("failed");
      throw error;
    });
    journal?.close("ok");
    return result;
  }

  return {
    dryRun,
    pass,
    async converge(deed, root, operations) {
      if (dryRun) return converge(root, operations, { mode: "check", signal });
      return (await pass(deed, (works) => works.converge(root, operations))) as Report;
    },
  };
}

/** A deed on an agent names its host first: `wolf-i/hermes-test`. */
const hostIn = ({ target }: Deed): string | undefined => /^([^/]+)\/[^/]+$/.exec(target)?.[1];

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
