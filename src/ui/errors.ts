import type { Fault } from "../errors.js";
import type { Paint } from "./paint.js";
import { plain } from "./plain.js";

export interface FaultStyle {
  paint: Paint;
  debug: boolean;
}

/** A fault for a person: what happened, why we think so, what to type next. */
export function faultText(fault: Fault, { paint, debug }: FaultStyle): string {
  const lines = [
    `${paint.red(paint.bold("error:"))} ${plain(fault.message)} ${paint.dim(`[${fault.code}]`)}`,
    ...fault.why.flatMap((why) => plain(why).trimEnd().split("\n")).map((line) => `  ${line}`),
    ...fault.next.map((next) => `  ${paint.bold("next:")} ${plain(next)}`),
    ...(debug ? ["", ...stack(fault).map((line) => paint.dim(line))] : []),
  ];
  return lines.join("\n");
}

export const faultData = (fault: Fault, debug: boolean): object => ({
  error: {
    code: fault.code,
    fault: fault.fault,
    who: fault.who,
    exit: fault.exit,
    message: fault.message,
    why: fault.why,
    next: fault.next,
    data: fault.data,
    ...(debug && { stack: stack(fault) }),
  },
});

function stack(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [`caused by ${String(error)}`];
  const own = plain(error.stack ?? error.message).split("\n");
  const cause = stack(error.cause);
  return cause.length > 0 ? [...own, "caused by", ...cause] : own;
}
