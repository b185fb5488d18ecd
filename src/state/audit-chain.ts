/** Who ran clm. */
export interface Who {
  user: string;
  uid: number;
  host: string;
  pid: number;
  /** The user who called sudo. */
  sudo_user?: string;
}

/** One line of the audit log. */
export interface AuditEntry {
  seq: number;
  at: string;
  event: "begin" | "end";
  /** The same at begin and end of one command. */
  id: string;
  verb: string;
  target: string;
  who: Who;
  /** The words typed, with secrets taken out. Only at begin. */
  argv?: string[];
  /** Only at end. */
  result?: "ok" | "failed" | "interrupted";
  /** The fault's code. Only at the end of what went wrong. */
  fault?: string;
  /** What came of it that is worth keeping: which conversation was handed to whom. Only at end, and never a secret. */
  detail?: Record<string, unknown>;
  /** Bytes of an unfinished line that were cut before this one was written: its writer was killed. */
  cut_bytes?: number;
  /** `audit.head` was missing, unreadable or old when this was written: what was cut off before it cannot be known. */
  head_lost?: true;
}
