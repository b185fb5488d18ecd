import { Fault, isFault } from "../../errors.js";
import type { Shell } from "../process.js";
import { newNonce } from "../stdin-script.js";
import { type Conversation, converse } from "./conversation.js";
import type { Operation } from "./operation.js";
import { programFor } from "./program.js";
import { named, type Report, type Result, reportOn } from "./report.js";

export { mustSucceed, type Report, type Result, type Status } from "./report.js";

export interface ConvergeOptions {
  mode: "check" | "apply";
  /** Called once before anything changes, with the differences; not called when nothing differs. */
  approve?: (report: Report) => Promise<boolean>;
  onResult?: (result: Result) => void;
  signal?: AbortSignal;
  /** Milliseconds to check, and again to change, without `approve`. Default: 2 minutes, and what operations may take. */
  timeout?: number;
}

/**
 * Brings a host into the state the operations describe, in one exec, and reports what was found and done. Needs root.
 * The host checks everything first and writes nothing until it gets the word to go on. The first failure ends the list.
 */
export async function converge(
  shell: Shell,
  operations: readonly Operation[],
  options: ConvergeOptions,
): Promise<Report> {
  const { mode, approve, onResult, signal, timeout } = options;
  const nonce = newNonce();
  const { script, contents } = programFor(operations, nonce);
  const host = await converse(shell, nonce, script, signal);
  try {
    host.setTimeLimit(timeout ?? checkTimeout);
    const checked = await listen(host, "ready", operations);
    const found = reportOn(operations, checked.results);

    host.setTimeLimit();
    const go = mode === "apply" && found.pending > 0 && ((await approve?.(found)) ?? true);
    if (!go) {
      if (onResult) found.results.forEach(onResult);
      return found;
    }

    host.setTimeLimit(timeout ?? changeTimeout(operations));
    const send = [...contents.keys()].filter(needed(operations, checked));
    host.say(`go ${send.join(" ")}\n`);
    for (const index of send) host.say(contents.get(index) ?? "");
    const { results } = await listen(host, "end", operations, onResult);
    return reportOn(operations, results);
  } finally {
    await host.hangUp();
  }
}

// A change waits up to a minute for another clm that changes the host.
const checkTimeout = 120_000;

function changeTimeout(operations: readonly Operation[]): number {
  const each = operations.map((op): number => {
    if (op.kind === "run") return op.timeout + 30_000;
    // A package manager may have to wait for another, and download; a unit for its service to stop.
    if (op.kind === "pkg" || op.kind === "unit" || op.kind === "absent") return 15 * 60_000;
    return 60_000;
  });
  return each.reduce((sum, one) => sum + one, checkTimeout);
}

// Characters.
const maxReasonLength = 64 * 1024;

interface HostReplies {
  results: Map<number, Result>;
  /** Operations that cannot be done without their content. */
  needContent: Set<number>;
}

/** Collects the host's replies up to the last word of this phase. */
async function listen(
  host: Conversation,
  lastWord: "ready" | "end",
  operations: readonly Operation[],
  onResult?: (result: Result) => void,
): Promise<HostReplies> {
  const heard: HostReplies = { results: new Map(), needContent: new Set() };
  let about: Pick<Result, "why" | "cause"> = {};
  for (;;) {
    const line = await host.next().catch(withFinished(heard.results));
    if (line === lastWord) return heard;
    if (line === "busy") throw busy();
    const [, place, word, text = ""] = /^(\d+) (\S+) ?(.*)$/.exec(line) ?? [];
    const index = Number(place);
    // A hostile host may send anything.
    if (index >= operations.length) continue;
    switch (word) {
      case "needs-content":
        heard.needContent.add(index);
        break;
      case "cause":
        about.cause = text === "full" ? "full" : "timeout";
        break;
      case "why":
        about.why = (about.why === undefined ? printable(text) : `${about.why}\n${printable(text)}`).slice(
          -maxReasonLength,
        );
        break;
      case "ok":
      case "would-change":
      case "changed":
      case "failed": {
        const details = text.split("\t").filter(Boolean).map(printable);
        const [note] = details;
        const found = word === "ok" ? { differences: [], ...(note && { note }) } : { differences: details };
        const result: Result = { ...named(operations[index], index), status: word, ...found, ...about };
        about = {};
        heard.results.set(index, result);
        onResult?.(result);
      }
    }
  }
}

const busy = (): Fault =>
  new Fault("locked", "another clm is changing this host", {
    why: "or an operation of a lost connection is still running; clm waited for 60 s",
  });

/** Without control characters, which could disturb a terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, " ").trimEnd();

/** Adds the operations finished so far to the fault of a broken conversation. */
const withFinished = (results: ReadonlyMap<number, Result>) => (error: unknown) => {
  if (!isFault(error)) throw error;
  throw error.with({ data: { ...error.data, finished: [...results.values()] } });
};

/** Whether an operation needs its content, now or because an earlier one runs a command or removes paths. */
function needed(operations: readonly Operation[], { results, needContent }: HostReplies): (index: number) => boolean {
  const unsettled = operations.findIndex(
    ({ kind }, index) => (kind === "run" || kind === "absent") && results.get(index)?.status === "would-change",
  );
  return (index) => needContent.has(index) || (unsettled >= 0 && index > unsettled);
}
