import { asFault, type Fault } from "../../errors.js";
import { limit } from "../../limit.js";
import { sh } from "../../quote.js";
import { run } from "../../remote/run.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

export interface Answer {
  host: string;
  /** The command's exit code; null when it did not get to one. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Why there is no exit code. */
  fault?: Fault;
}

export interface Question {
  /** One word is read by the host's shell, several are passed on as they are. */
  command: string[];
  sudo: boolean;
  /** Milliseconds. */
  timeout?: number | undefined;
  parallel: number;
}

/** Exec: one command on many hosts at once. Every host answers; a host that cannot is an answer too. */
export async function execOnHosts(
  session: Session,
  hosts: Host[],
  { command, sudo, timeout, parallel }: Question,
  onAnswer: (answer: Answer) => void,
): Promise<Answer[]> {
  const [first = "", ...rest] = command;
  const words = rest.length === 0 ? first : sh`${command}`;
  // What sudo started is out of our reach, so the host itself must end it.
  const line = sudo && timeout ? sh`timeout -k 5 ${Math.ceil(timeout / 1000)} /bin/sh -c ${words}` : words;
  const slot = limit(parallel);
  const options = { signal: session.signal, ...(timeout && { timeout }) };

  const ask = async (host: Host): Promise<Answer> => {
    try {
      const connection = await session.pool.connect(host);
      const { code, stdout, stderr } = await run(sudo ? connection.as("root") : connection, line, options);
      return { host: host.name, code, stdout, stderr };
    } catch (error) {
      session.signal.throwIfAborted();
      return { host: host.name, code: null, stdout: "", stderr: "", fault: asFault(error) };
    }
  };
  // The arguments may hold what must not be written down, so the log gets the program's name only.
  const deed = {
    verb: "host exec",
    target: hosts.map(({ name }) => name).join(","),
    summary: `run ${first.split(/\s/)[0]} on ${hosts.length} host${hosts.length === 1 ? "" : "s"}`,
  };
  const answers = await session.gate.pass(deed, () =>
    Promise.all(
      hosts.map((host) =>
        slot(async () => {
          const answer = await ask(host);
          onAnswer(answer);
          return answer;
        }),
      ),
    ),
  );
  return answers ?? [];
}

/** The worst exit code: what a host said, or what kept it from saying anything. */
export function worst(answers: Answer[]): number {
  return Math.max(0, ...answers.map(({ code, fault }) => fault?.exit ?? code ?? 255));
}
