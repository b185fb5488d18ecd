import { atMost } from "../../async/limit.js";
import { asFault, type Fault, isFault } from "../../errors.js";
import { sh } from "../../quote.js";
import { type OnOutput, run } from "../../remote/run.js";
import type { Outcome } from "../../state/audit/write.js";
import type { Host } from "../../state/hosts.js";
import { programOf } from "../gate.js";
import { cleanCut } from "../hide-secrets.js";
import type { Session } from "../session.js";

export interface HostResult {
  host: string;
  /** The command's exit code; null without one. */
  code: number | null;
  signal?: string;
  /** Its output, also when it was cut short; empty when a listener got it. */
  stdout: string;
  stderr: string;
  /** Why there is no exit code. */
  fault?: Fault;
}

export interface ExecOptions {
  /** One word is parsed by the host's shell; several are passed as they are. */
  command: string[];
  sudo: boolean;
  /** Milliseconds. */
  timeout?: number | undefined;
  parallel: number;
}

export interface ExecListener {
  stdout?: OnOutput;
  stderr?: OnOutput;
  answer?: (answer: HostResult) => void;
}

/** A host that fails gives a result too. */
export async function execOnHosts(
  session: Session,
  hosts: Host[],
  { command, sudo, timeout, parallel }: ExecOptions,
  listener: ExecListener,
): Promise<HostResult[]> {
  const words = command.length === 1 ? (command[0] ?? "") : sh`${command}`;
  const cut = cleanCut(session);

  async function ask(host: Host): Promise<HostResult> {
    const kept = { stdout: keepOutput(cut), stderr: keepOutput(cut) };
    const hear = (stream: "stdout" | "stderr") => listener[stream] ?? kept[stream].add;
    const heard = () => ({ host: host.name, stdout: kept.stdout.text(), stderr: kept.stderr.text() });
    try {
      const connection = await session.pool.connect(host);
      const { code, signal } = await run(sudo ? connection.as("root") : connection, sudo ? leashed(words) : words, {
        signal: session.signal,
        onStdout: hear("stdout"),
        onStderr: hear("stderr"),
        keepStdin: sudo,
        ...(timeout && { timeout }),
      });
      return { ...heard(), code, ...(signal && { signal }) };
    } catch (error) {
      session.signal.throwIfAborted();
      if (isFault(error, "interrupted")) throw error;
      return { ...heard(), code: null, fault: asFault(error) };
    }
  }

  const names = hosts.map(({ name }) => name);
  const action = {
    verb: "host exec",
    target: names.join(","),
    summary: `run ${programOf(command)} on ${names.join(", ")}`,
  };
  const askAll = () =>
    atMost(parallel, hosts, async (host) => {
      const answer = await ask(host);
      listener.answer?.(answer);
      return answer;
    });
  // A prompt that was declined ends it without waiting for the other hosts.
  return (await session.gate.pass(action, () => Promise.all(askAll()), outcomeOf)) ?? [];
}

/** Signals do not reach a root process, so the command ends when stdin does: clm stopped or the connection was lost. */
function leashed(command: string): string {
  return sh`exec 3<&0
setsid /bin/sh -c ${command} </dev/null 3<&- &
child=$!
{
  cat <&3
  kill -TERM -$child
  for second in 1 2 3 4 5; do sleep 1; kill -0 -$child || exit; done
  kill -KILL -$child
} >/dev/null 2>&1 &
leash=$!
wait $child
code=$?
kill $leash 2>/dev/null
exit $code`;
}

// Bytes of each stream: a command may never stop, and there may be a hundred hosts.
const mostKept = 8 << 20;

/** Keeps the beginning of a command's output. `clean` redacts text whose end is missing. */
export function keepOutput(clean: (text: string, cut: boolean) => string, room = mostKept) {
  const chunks: Buffer[] = [];
  let size = 0;
  let isCut = false;
  return {
    add(chunk: Buffer): void {
      const taken = chunk.subarray(0, room - size);
      isCut ||= taken.length < chunk.length;
      if (taken.length === 0) return;
      // A copy: a part of a chunk keeps all of it in memory.
      chunks.push(taken.length < chunk.length ? Buffer.from(taken) : taken);
      size += taken.length;
    },
    text(): string {
      const text = Buffer.concat(chunks).toString("utf8");
      return isCut ? `${clean(text, true)}\n` : text;
    },
  };
}

// As in a shell, where the signal's number is not known.
const endedBySignal = 128;
export const exitOf = ({ code, fault }: HostResult): number => fault?.exit ?? code ?? endedBySignal;
export const worst = (answers: HostResult[]): number => Math.max(0, ...answers.map(exitOf));

function outcomeOf(answers: HostResult[]): Outcome {
  const bad = answers.find((answer) => exitOf(answer) !== 0);
  if (!bad) return { result: "ok" };
  return { result: "failed", ...(bad.fault && { fault: bad.fault.code }) };
}
