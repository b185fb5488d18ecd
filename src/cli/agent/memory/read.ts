import { lengthOf } from "../../../agents/memory/memory.js";
import { Fault } from "../../../errors.js";
import {
  type MemoryCopy,
  memoryTarget,
  readFiles,
  readFile as readMemoryFile,
} from "../../../flows/agent/memory/memory-files.js";
import { plain } from "../../../ui/plain.js";
import { age } from "../../../ui/time.js";
import type { Context, Handler, View } from "../../command.js";
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
