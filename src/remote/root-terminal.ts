import { EventEmitter } from "node:events";
import { PassThrough, type Readable } from "node:stream";
import { sh } from "../quote.js";
import type { Process } from "./process.js";
import { newNonce } from "./stdin-script.js";
import { maxPreambleBytes, noSudo, type SudoAccess, type SudoSigns, untilPassed, withProofLine } from "./sudo.js";

export interface Window {
  term: string;
  rows: number;
  columns: number;
}

/** A process on a pseudo-terminal. All its output is on stdout. */
export interface TerminalProcess extends Process {
  resize(window: Pick<Window, "rows" | "columns">): void;
}

/** sudo asks on the terminal with our own prompt. */
export async function rootOnTerminal(
  command: string,
  access: SudoAccess,
  start: (line: string) => Promise<TerminalProcess>,
  signal: AbortSignal,
): Promise<TerminalProcess> {
  const { host, sudo } = access;
  if (host.user === "root") return start(command);
  if (sudo === "none") throw noSudo(host, "sudo is not installed there");
  const [proof, prompt] = [newNonce(), newNonce()];
  const how = sudo === "password" ? sh`-p ${prompt}` : "-n";
  const process = await start(`sudo ${how} -u root -- ${sh`/bin/sh -c ${withProofLine(proof, command)}`}`);
  const signs: SudoSigns = new EventEmitter();
  const { rest, head } = afterProof(process.stdout, { proof, prompt, signs });
  await untilPassed(access, process, { signs, refusal: head, signal });
  return { ...process, stdout: rest };
}

/** The output after the proof line, and what came before it. */
function afterProof(
  stdout: Readable,
  { proof, prompt, signs }: { proof: string; prompt: string; signs: SudoSigns },
): { rest: Readable; head: () => string } {
  const rest = new PassThrough();
  let head = "";
  function hear(chunk: Buffer): void {
    head += chunk.toString("latin1");
    if (head.length > maxPreambleBytes) {
      stdout.off("data", hear);
      signs.emit("flood");
      return;
    }
    const at = head.indexOf(`${proof}\r\n`);
    if (at >= 0) {
      stdout.off("data", hear);
      rest.write(Buffer.from(head.slice(at + proof.length + 2), "latin1"));
      stdout.pipe(rest);
      signs.emit("pass");
    } else if (head.includes(prompt)) {
      head = head.slice(head.indexOf(prompt) + prompt.length);
      signs.emit("prompt");
    }
  }
  stdout.on("data", hear);
  return { rest, head: () => head.trim() };
}
