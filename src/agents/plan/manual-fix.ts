import { Fault } from "../../errors.js";

/** Something on the host that clm must not repair by itself, because something of the user's would be lost. */
export class ManualFix extends Fault {
  constructor(
    readonly thing: string,
    ...fault: ConstructorParameters<typeof Fault>
  ) {
    super(...fault);
  }
}

/** A difference that no operation repairs, and the command that does. */
export interface ManualDifference {
  what: string;
  reason: string;
  fix?: string;
}

/** The result of `plan`, or the difference that only a person can repair. */
export function orManualFix<T>(plan: () => T): T | ManualDifference {
  try {
    return plan();
  } catch (error) {
    if (!(error instanceof ManualFix)) throw error;
    const { thing: what, message, why, next } = error;
    return { what, reason: [message, ...why].join(": "), ...(next[0] !== undefined && { fix: next[0] }) };
  }
}
