import { Fault } from "../errors.js";

/** The error for an invalid command line; `meant` is the likely correction. */
export function usage(path: string, what: string, meant?: string): Fault {
  return new Fault("usage", what, {
    ...(meant && { why: `did you mean '${meant}'?` }),
    next: `${path} --help`,
  });
}
