import { readFile } from "node:fs/promises";
import { readAll } from "../../../async/read-all.js";
import { Fault } from "../../../errors.js";
import { deleteMemory } from "../../../flows/agent/memory/delete.js";
import { editMemory } from "../../../flows/agent/memory/edit.js";
import { type WriteResult, writeMemory } from "../../../flows/agent/memory/write.js";
import type { Context, Handler } from "../../command.js";
import { usage } from "../../usage.js";
import type * as declared from "./commands.js";

export const edit: Handler<typeof declared.edit> = async ({ args }, clm) => {
  const editing = { file: args.file, yes: clm.yes };
  printResult(clm, await clm.withSession((session) => editMemory(session, args.name, editing)));
};

export const write: Handler<typeof declared.write> = async ({ args, options }, clm) => {
  const { from = "-", ifDigest } = options;
  const isPiped = from === "-";
  const bytes = isPiped ? await piped(clm) : await contentOf(from);
  const request = { file: args.file, bytes, only: isPiped, yes: clm.yes, ifDigest };
  printResult(clm, await clm.withSession((session) => writeMemory(session, args.name, request)));
};

const remove: Handler<typeof declared.remove> = async ({ args, options: { all } }, clm) => {
  if (all === (args.file !== undefined)) {
    throw usage("clm agent memory delete", all ? "--all goes with no FILE" : "name a file to delete, or pass --all");
  }
  const deleted = await clm.withSession((session) => deleteMemory(session, args.name, args.file));
  if (clm.dryRun) return undefined;
  clm.ui.note(
    deleted.length > 0 ? `${deleted.join(" and ")} of ${args.name} is deleted` : "there was nothing to delete",
  );
};

export { remove as delete };

function printResult(clm: Context, result: WriteResult): void {
  const { file, agent, length, limit, changed } = result;
  if (clm.format !== "table") clm.show({ ...result, ...(clm.dryRun && { dry_run: true }) });
  if (clm.format !== "table" || clm.dryRun) return;
  clm.ui.note(
    changed
      ? `${file} of ${agent} now has ${length} of ${limit} characters; a running agent takes it up with its next request`
      : `${file} of ${agent} has this text already; nothing was changed`,
  );
}

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
