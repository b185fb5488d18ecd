import { PassThrough, type Readable } from "node:stream";
import { waitFor } from "../async/wait.js";
import { sh } from "../quote.js";
import type { Process } from "./process.js";
import { noSudo, passwordOptions, randomMark, type SudoAccess, sudoTimeout, withProofLine } from "./sudo.js";

export interface Window {
  term: string;
  rows: number;
  columns: number;
}

/** A process on a pseudo-terminal. All its output is on stdout. */
export interface TerminalProcess extends Process {
  resize(window: Pick<Window, "rows" | "columns">): void;
}

/** sudo asks on the terminal with our own prompt. Only the password is written before the marker line arrives. */
export async function rootOnTerminal(
  command: string,
  { host, sudo, passwords }: SudoAccess,
  start: (line: string) => Promise<TerminalProcess>,
  signal: AbortSignal,
): Promise<TerminalProcess> {
  if (host.user === "root") return start(command);
  if (sudo === "none") throw noSudo(host, "sudo is not installed there");
  const [proof, prompt] = [randomMark(), randomMark()];
  const how = sudo === "password" ? sh`-p ${prompt}` : "-n";
  const process = await start(`sudo ${how} -u root -- ${sh`/bin/sh -c ${withProofLine(proof, command)}`}`);
  const password = () => passwords.sudo(`${host.user}@${host.target.name}`);
  try {
    return { ...process, stdout: await waitFor(afterSudo(process, { proof, prompt, password }), { signal }) };
  } catch (error) {
    process.kill("KILL");
    throw typeof error === "string" ? noSudo(host, error, error === nobody ? passwordOptions : undefined) : error;
  }
}

// Characters that may come before the marker line.
const maxPreambleBytes = 64 * 1024;
const nobody = "sudo needs a password, and there is no terminal to prompt on";

interface SudoDialogue {
  proof: string;
  prompt: string;
  password: () => ReturnType<SudoAccess["passwords"]["sudo"]>;
}

/** The output after sudo succeeded. Rejects with a reason when it did not. */
function afterSudo({ stdout, stdin, done }: Process, { proof, prompt, password }: SudoDialogue): Promise<Readable> {
  const rest = new PassThrough();
  let head = "";
  let asked = 0;
  let timer: NodeJS.Timeout | undefined;
  return new Promise<Readable>((resolve, reject) => {
    const wait = () => {
      timer = setTimeout(() => reject("it asked nothing clm understands"), sudoTimeout);
    };
    async function answer(): Promise<void> {
      clearTimeout(timer);
      if (asked++ > 0) return reject("the password was not accepted");
      const secret = await password();
      wait();
      if (secret) stdin.write(`${secret.reveal()}\n`);
      else reject(nobody);
    }
    function hear(chunk: Buffer): void {
      head += chunk.toString("latin1");
      if (head.length > maxPreambleBytes) {
        stdout.off("data", hear);
        reject("it showed more than clm reads before it started anything");
        return;
      }
      const at = head.indexOf(`${proof}\r\n`);
      if (at >= 0) {
        stdout.off("data", hear);
        rest.write(Buffer.from(head.slice(at + proof.length + 2), "latin1"));
        stdout.pipe(rest);
        resolve(rest);
      } else if (head.includes(prompt)) {
        head = head.slice(head.indexOf(prompt) + prompt.length);
        answer().catch(reject);
      }
    }
    wait();
    stdout.on("data", hear);
    done.then(() => reject(head.trim()), reject);
  }).finally(() => clearTimeout(timer));
}
