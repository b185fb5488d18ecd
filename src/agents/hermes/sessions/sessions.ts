import { proofSessions } from "../../probe/proof/session.js";
import { onStateDb } from "../state-db/program.js";
import program from "./program.py?raw";

/** What can be asked of an agent's sessions. */
export type Question =
  | ({ verb: "list"; limit: number } & Narrowing)
  /** With `earlier` also what a session no longer shows: what it goes on from, and what was taken back or folded in it. */
  | { verb: "whole"; ids: string[]; all: boolean; earlier?: boolean | undefined }
  | ({ verb: "search"; limit: number; text: string } & Narrowing);

export interface Narrowing {
  source?: string | undefined;
  /** Seconds since 1970. */
  since?: number | undefined;
}

/** What to run on the host, and what to write to it. Sessions of proofs are shown only when one is asked for by its id. */
export const asking = (question: Question, paths: { data: string; code: string }) =>
  onStateDb(program, { ...question, hidden: proofSessions }, paths);
