import { EventEmitter } from "node:events";
import { sh } from "../quote.js";
import type { Process } from "./process.js";
import { newNonce } from "./stdin-script.js";
import { afterProof, noSudo, type SudoAccess, type SudoSigns, untilPassed, withProofLine } from "./sudo.js";

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
  const { rest, head } = afterProof(process.stdout, { proofLine: `${proof}\r\n`, prompt, signs });
  await untilPassed(access, process, { signs, refusal: head, signal });
  return { ...process, stdout: rest };
}
