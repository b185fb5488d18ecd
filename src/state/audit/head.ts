import { join } from "node:path";
import { objectFrom } from "../../text/json-object.js";
import { writeAtomic } from "../atomic-file.js";
import { readStateFile } from "../state-file.js";
import type { ChainLink } from "./hash-chain.js";

/**
 * `audit.head` names the last line, so that lines cut off the end are detected. It exists before the first line and is
 * rewritten after each: a crash leaves it at most one behind, because the next writer updates it first.
 */
export function readHead(dir: string): ChainLink | undefined {
  const text = readStateFile(join(dir, "audit.head"), false)?.text;
  const head = objectFrom<Partial<ChainLink>>(text ?? "");
  // An unreadable one is the same as a missing one: the end of the log cannot be verified.
  return Number.isInteger(head?.seq) && typeof head?.hash === "string" ? (head as ChainLink) : undefined;
}

export function writeHead(dir: string, { seq, hash }: ChainLink, beforeRename: () => void): void {
  writeAtomic(join(dir, "audit.head"), `${JSON.stringify({ seq, hash })}\n`, { beforeRename });
}
