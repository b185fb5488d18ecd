import { readFile } from "node:fs/promises";
import { lengthOf } from "../../../agents/memory/memory.js";
import { readAll } from "../../../async/read-all.js";
import { Fault } from "../../../errors.js";
import { deleteMemory } from "../../../flows/agent/memory/delete.js";
import { editMemory } from "../../../flows/agent/memory/edit.js";
import {
  type MemoryCopy,
  memoryTarget,
  readFiles,
  readFile as readMemoryFile,
} from "../../../flows/agent/memory/memory-files.js";
import { type WriteResult, writeMemory } from "../../../flows/agent/memory/write.js";
import { plain } from "../../../ui/plain.js";
import { age } from "../../../ui/time.js";
import type { Context, Handler, View } from "../../command.js";
import { usage } from "../../usage.js";
import type * as declared from "./commands.js";

export const show: Handler<typeof declared.show> = async ({ args }, clm) => {
  const copies = await readMemory(clm, args.name, args.file);
  clm.show(
    copies.map((copy) => ({ ...dataOf(copy), text: copy.content?.text ?? null })),
    () => copies.map(describe).join("\n"),
  );
};

export const info: Handler<typeof declared.info> = async ({ args }, clm) => {
  clm.list(await readMemory(clm, args.name, args.file), infoView(clm.now()));
};

export const read: Handler<typeof declared.read> = async ({ args }, clm) => {
  const { file, content } = await clm.withSession(async (session) => {
    const target = await memoryTarget(session, args.name);
    return readMemoryFile(session, target, target.file(args.file));
  });
  if (!content) {
    throw new Fault("not-found", `Memory file not found: ${file.name}`, {
      why: `${args.name} has not written it yet`,
      next: `clm agent memory edit ${args.name} ${file.name}`,
    });
  }
  if (!Buffer.from(content.text).equals(content.bytes)) clm.ui.warn(`${file.name} is not valid UTF-8`);
  // The text may come from anybody the agent talked to: a pipe gets every byte, a terminal no escape sequence.
  clm.ui.out(process.stdout.isTTY ? plain(content.text) : content.text);
};

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
    throw usage("clm agent memory delete", all ? "--all goes with no FILE" : "say which file to delete, or --all");
  }
  const deleted = await clm.withSession((session) => deleteMemory(session, args.name, args.file));
  if (clm.dryRun) return undefined;
  clm.ui.note(
    deleted.length > 0 ? `${deleted.join(" and ")} of ${args.name} is deleted` : "there was nothing to delete",
  );
};

export { remove as delete };

const readMemory = (clm: Context, name: string, file: string | undefined): Promise<MemoryCopy[]> =>
  clm.withSession(async (session) => {
    const target = await memoryTarget(session, name);
    return readFiles(session, target, file === undefined ? target.files : [target.file(file)]);
  });

function dataOf({ file, content, digest }: MemoryCopy) {
  return {
    file: file.name,
    path: file.path,
    summary: file.summary,
    exists: content !== undefined,
    limit: file.limit,
    length: lengthOf(content?.text ?? ""),
    entries: file.entries ? (content?.entries.length ?? 0) : null,
    mode: content?.mode ?? null,
    owner: content?.owner ?? null,
    modified: content?.modified ?? null,
    digest,
  };
}

function infoView(now: Date): View<MemoryCopy> {
  const length = ({ file, content }: MemoryCopy) =>
    content ? `${lengthOf(content.text)} of ${file.limit}` : "missing";
  return {
    columns: [
      { title: "file", value: ({ file }) => file.name, whole: true },
      { title: "characters", value: length },
      { title: "entries", value: (copy) => dataOf(copy).entries ?? undefined, drop: 3 },
      { title: "mode", value: ({ content }) => content?.mode, drop: 2 },
      { title: "owner", value: ({ content }) => content?.owner, drop: 1 },
      { title: "modified", value: ({ content }) => content && `${age(content.modified, now)} ago`, drop: 4 },
      { title: "digest", value: ({ digest }) => digest },
    ],
    data: dataOf,
    name: ({ file }) => file.name,
  };
}

function describe(copy: MemoryCopy): string {
  const { file, exists, length, limit, entries, summary } = dataOf(copy);
  const head = `${file}: ${summary}`;
  if (!exists) return `${head}\n  (missing)\n`;
  const count = entries === null ? "" : `, ${entries} ${entries === 1 ? "entry" : "entries"}`;
  const body = copy.content?.text.replace(/\n$/, "") || "(empty)";
  return `${head} (${length} of ${limit} characters${count})\n${body.replace(/^(?=.)/gm, "  ")}\n`;
}

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
