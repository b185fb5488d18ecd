/** A program that clm runs on an agent's data on its host: a script for sh with its arguments, and its stdin. */
export interface HostProgram {
  script: string;
  words: string[];
  stdin: string;
}

/** Sent as a line of JSON. */
export interface ProgramAnswer {
  /** The agent has no sessions yet. */
  absent?: boolean;
  /** This names no session, or the several of `candidates`. */
  unknown?: string;
  candidates?: string[];
  fault?: string;
  why?: string;
  /** The last line. */
  end?: boolean;
}

export interface ProgramPaths {
  data: string;
  code: string;
}
