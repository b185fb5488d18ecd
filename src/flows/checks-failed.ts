import type { Check } from "../agents/check.js";
import { Fault } from "../errors.js";

/** Each failure is a reason, and its fix a command to type next. `as` is the member of the fault's data with the checks. */
export class ChecksFailed extends Fault {
  constructor(
    what: string,
    readonly checks: Check[],
    as: "checks" | "proofs" = "checks",
  ) {
    const failed = checks.filter(({ result }) => result === "fail");
    super("check-failed", what, {
      why: failed.map(({ id, reason }) => `${id}: ${reason}`),
      next: [...new Set(failed.flatMap(({ fix }) => fix ?? []))],
      data: { [as]: checks },
    });
  }
}

export function mustPass(checks: Check[], what: string, as?: "checks" | "proofs"): void {
  if (checks.some(({ result }) => result === "fail")) throw new ChecksFailed(what, checks, as);
}
