import { Fault } from "../../errors.js";

/** Something on the host that clm must not put right by itself: what is somebody else's would be lost. */
export class Unmendable extends Fault {
  constructor(
    readonly thing: string,
    ...fault: ConstructorParameters<typeof Fault>
  ) {
    super(...fault);
  }
}

/** A difference that no wish can mend, and what does. */
export interface Lost {
  what: string;
  reason: string;
  fix?: string;
}

/** What only a person can put right differs all the same. */
export function orLoss<T>(plan: () => T): T | Lost {
  try {
    return plan();
  } catch (error) {
    if (!(error instanceof Unmendable)) throw error;
    const { thing: what, message, why, next } = error;
    return { what, reason: [message, ...why].join(": "), ...(next[0] !== undefined && { fix: next[0] }) };
  }
}
