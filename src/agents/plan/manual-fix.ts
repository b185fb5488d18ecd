import { Fault } from "../../errors.js";

/** A problem on the host that clm must not repair by itself, because the user could lose data. */
export class ManualFix extends Fault {
  constructor(
    readonly thing: string,
    ...fault: ConstructorParameters<typeof Fault>
  ) {
    super(...fault);
  }
}

/** A difference that sync cannot repair, and the command that can. */
export interface ManualDifference {
  what: string;
  reason: string;
  fix?: string;
}

export function orManualFix<T>(plan: () => T): T | ManualDifference {
  try {
    return plan();
  } catch (error) {
    if (!(error instanceof ManualFix)) throw error;
    const { thing: what, message, why, next } = error;
    return { what, reason: [message, ...why].join(": "), ...(next[0] !== undefined && { fix: next[0] }) };
  }
}
