import { Fault } from "../errors.js";

/** A command line clm does not understand: what is wrong, what may have been meant, and where to read. */
export function usage(path: string, what: string, meant?: string): Fault {
  return new Fault("usage", what, {
    ...(meant && { why: `did you mean '${meant}'?` }),
    next: `${path} --help`,
  });
}
