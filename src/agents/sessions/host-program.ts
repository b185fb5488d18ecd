/** A program of clm's that works on an agent's data on its host: a script for sh with its arguments, and its stdin. */
export interface HostProgram {
  script: string;
  words: string[];
  stdin: string;
}

/** What every such program may answer, in a line of JSON. */
export interface ProgramAnswer {
  /** The agent has no sessions yet. */
  absent?: boolean;
  /** This names no session, or the several of `like`. */
  unknown?: string;
  like?: string[];
  fault?: string;
  why?: string;
  /** The last line. */
  end?: boolean;
}

export interface ProgramPaths {
  data: string;
  code: string;
}
