export interface Actor {
  user: string;
  uid: number;
  host: string;
  pid: number;
  sudo_user?: string;
}

export interface AuditEntry {
  seq: number;
  at: string;
  event: "begin" | "end";
  /** The same in a command's begin and end entries. */
  id: string;
  verb: string;
  target: string;
  who: Actor;
  /** The command line with secrets redacted. Only in begin entries. */
  argv?: string[];
  /** Only in end entries. */
  result?: "ok" | "failed" | "interrupted";
  /** The fault's code. Only in end entries of failed commands. */
  fault?: string;
  /** Details of the result, such as which conversation was handed to whom. Only in end entries; never a secret. */
  detail?: Record<string, unknown>;
  /** Bytes of an incomplete line (of a killed writer) that were cut before this entry was written. */
  cut_bytes?: number;
  /** `audit.head` was missing, unreadable or outdated when this was written: earlier entries may have been cut off. */
  head_lost?: true;
}
