import { readFile } from "node:fs/promises";
import { readAll } from "../../../async/read-all.js";
import { Fault } from "../../../errors.js";
import { writeMemory } from "../../../flows/agent/memory/write.js";
import { withSession } from "../../../flows/session.js";
import type { Context, Handler } from "../../command.js";
import type { write } from "./commands.js";
import { printResult } from "./view.js";

export const run: Handler<typeof write> = async ({ args, options }, clm) => {
  const { from = "-", ifDigest } = options;
  const isPiped = from === "-";
  const bytes = isPiped ? await piped(clm) : await contentOf(from);
  const request = { file: args.file, bytes, only: isPiped, yes: clm.yes, ifDigest };
  printResult(clm, await withSession(clm, (session) => writeMemory(session, args.name, request)));
};

// Many times what any memory file may hold, and little enough to keep.
const largest = 1024 * 1024;

async function piped({ stdin, signal }: Context): Promise<Buffer> {
  const stream = stdin();
  if (stream.isTTY) {
    throw new Fault("usage", "nothing was piped in", { why: "pipe the text in, or name a file with --from" });
  }
  return readAll(stream, { signal, maxBytes: largest, tooMuch: () => tooLarge("the text on stdin") });
}

async function contentOf(path: string): Promise<Buffer> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Fault("bad-input", `cannot read ${path}`, { why: error.message, cause: error });
  });
  if (bytes.length > largest) throw tooLarge(path);
  return bytes;
}

const tooLarge = (what: string) =>
  new Fault("bad-input", `${what} is larger than 1 MB`, { why: "no memory file may be that large" });
