/** Every fault in one table: who must act, stable code, exit code. Thrown where found, printed once at the top. */

export type Who = "user" | "host" | "remote" | "trust" | "integrity" | "lock" | "interrupted" | "bug";

interface FaultKind {
  code: `CLM-${number}`;
  who: Who;
  exit: number;
  meaning: string;
}

export const faults = {
  usage: { code: "CLM-1001", who: "user", exit: 2, meaning: "the command line is not valid" },
  "not-found": {
    code: "CLM-1002",
    who: "user",
    exit: 4,
    meaning: "there is no host, agent or other thing of that name",
  },
  "already-exists": { code: "CLM-1003", who: "user", exit: 5, meaning: "the name is taken" },
  "in-use": { code: "CLM-1004", who: "user", exit: 5, meaning: "something still depends on it" },
  "needs-answer": {
    code: "CLM-1005",
    who: "user",
    exit: 6,
    meaning: "clm needs an answer, and there is no terminal to prompt on",
  },
  declined: { code: "CLM-1006", who: "user", exit: 6, meaning: "the question was answered with no" },
  "bad-input": { code: "CLM-1007", who: "user", exit: 2, meaning: "a value is not allowed" },
  "local-setup": { code: "CLM-1008", who: "user", exit: 7, meaning: "this machine lacks something the command needs" },
  conflict: { code: "CLM-1009", who: "user", exit: 5, meaning: "it was changed by someone else since it was read" },
  "not-ready": { code: "CLM-1010", who: "user", exit: 8, meaning: "an earlier step is missing" },

  "check-failed": { code: "CLM-2001", who: "host", exit: 1, meaning: "at least one check failed" },
  unreachable: { code: "CLM-2002", who: "host", exit: 10, meaning: "no connection to the host's address" },
  "auth-refused": { code: "CLM-2003", who: "host", exit: 11, meaning: "the host refused the user or the key" },
  "sudo-refused": { code: "CLM-2004", who: "host", exit: 13, meaning: "clm could not become root on the host" },
  "connection-lost": { code: "CLM-2005", who: "host", exit: 14, meaning: "the connection to the host was lost" },
  "host-full": { code: "CLM-2006", who: "host", exit: 15, meaning: "a disk on the host is full" },
  unsupported: { code: "CLM-2007", who: "host", exit: 17, meaning: "the host lacks something clm needs" },
  differs: { code: "CLM-2008", who: "host", exit: 3, meaning: "something on a host differs from its configuration" },

  "remote-failed": { code: "CLM-3001", who: "remote", exit: 16, meaning: "a command on the host failed" },
  "remote-timeout": {
    code: "CLM-3002",
    who: "remote",
    exit: 18,
    meaning: "a command on the host took too long",
  },

  "host-key-unknown": { code: "CLM-4001", who: "trust", exit: 12, meaning: "the host's key has not been pinned" },
  "host-key-changed": {
    code: "CLM-4002",
    who: "trust",
    exit: 12,
    meaning: "the host's key is not the pinned one",
  },
  "host-key-revoked": { code: "CLM-4003", who: "trust", exit: 12, meaning: "the host's key was revoked" },

  "state-readonly": { code: "CLM-5001", who: "user", exit: 20, meaning: "the config directory cannot be written" },
  "state-corrupt": {
    code: "CLM-5002",
    who: "user",
    exit: 21,
    meaning: "a state file is not valid",
  },
  "state-newer": { code: "CLM-5003", who: "user", exit: 22, meaning: "a state file was written by a newer clm" },
  "state-exposed": { code: "CLM-5004", who: "user", exit: 23, meaning: "a file with secrets is accessible to others" },
  locked: {
    code: "CLM-5005",
    who: "lock",
    exit: 24,
    meaning: "another clm process holds the lock and did not finish in time",
  },

  integrity: { code: "CLM-6001", who: "integrity", exit: 30, meaning: "bytes do not match their pinned digest" },

  interrupted: { code: "CLM-7001", who: "interrupted", exit: 130, meaning: "stopped by the user" },
  bug: { code: "CLM-9001", who: "bug", exit: 70, meaning: "a bug in clm" },
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof faults;

export interface FaultDetails {
  why?: string | string[];
  next?: string | string[];
  /** The option that would have answered or allowed it; in `data` too. */
  flag?: string | undefined;
  /** Anything a program may want to know; printed in `-o json` errors, never on screen, and never read by clm. */
  data?: Record<string, unknown>;
  cause?: unknown;
}

type FaultChanges = Omit<FaultDetails, "cause"> & { message?: string };

export class Fault extends Error {
  override readonly name = "Fault";
  readonly why: string[];
  readonly next: string[];
  readonly flag: string | undefined;
  readonly data: Record<string, unknown>;

  constructor(
    readonly fault: FaultName,
    what: string,
    details: FaultDetails = {},
  ) {
    super(what, { cause: details.cause });
    this.why = [details.why ?? []].flat();
    this.next = [details.next ?? []].flat();
    this.flag = details.flag;
    this.data = { ...details.data, ...(this.flag !== undefined && { flag: this.flag }) };
  }

  with({ message = this.message, why = this.why, next = this.next, data = this.data }: FaultChanges): Fault {
    return new Fault(this.fault, message, { why, next, data, flag: this.flag, cause: this });
  }

  get code(): string {
    return faults[this.fault].code;
  }

  get exit(): number {
    return faults[this.fault].exit;
  }

  get who(): Who {
    return faults[this.fault].who;
  }
}

/** A fault that did not end the command, for a program. */
export const errorOf = ({ code, message, why, next }: Fault) => ({ code, message, why, next });

export function isFault(error: unknown, ...names: FaultName[]): error is Fault {
  return error instanceof Fault && (names.length === 0 || names.includes(error.fault));
}

/** Any thrown value as a fault: an unexpected one is a bug of ours. */
export function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Fault("bug", message, { cause: error, next: "report it with the output of the same command and --debug" });
}
