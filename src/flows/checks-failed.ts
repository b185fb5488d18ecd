import type { Check } from "../agents/check.js";
import { Fault, type FaultName } from "../errors.js";

interface ChecksFailedOptions {
  fault?: FaultName;
  /** The member of the fault's data that has the checks. */
  as?: "checks" | "proofs";
}

/** Each failure is a reason, and its fix a command to type next. */
export class ChecksFailed extends Fault {
  constructor(
    what: string,
    readonly checks: Check[],
    { fault = "check-failed", as = "checks" }: ChecksFailedOptions = {},
  ) {
    const failed = checks.filter(({ result }) => result === "fail");
    super(fault, what, {
      why: failed.map(({ id, reason }) => `${id}: ${reason}`),
      next: [...new Set(failed.flatMap(({ fix }) => fix ?? []))],
      data: { [as]: checks },
    });
  }
}

export function mustPass(checks: Check[], what: string, options: ChecksFailedOptions = {}): void {
  if (checks.some(({ result }) => result === "fail")) throw new ChecksFailed(what, checks, options);
}
