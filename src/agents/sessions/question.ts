import { byPython } from "../by-python.js";
import program from "./program.py?raw";

/** What can be asked of an agent's sessions. */
export type Question =
  | ({ verb: "list"; limit: number } & Narrowing)
  | { verb: "whole"; ids: string[]; all: boolean }
  | ({ verb: "search"; limit: number; text: string } & Narrowing);

export interface Narrowing {
  source?: string | undefined;
  /** Seconds since 1970. */
  since?: number | undefined;
}

/** What to run on the host, and what to write to it. */
export const asking = (question: Question, { data, code }: { data: string; code: string }) =>
  byPython(program, { ...question, db: `${data}/state.db` }, code);
