import type { Readable, Writable } from "node:stream";

export type InStream = Readable & { isTTY?: boolean };
export type OutStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };
