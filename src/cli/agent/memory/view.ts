import { lengthOf } from "../../../agents/memory/memory.js";
import { type MemoryCopy, memoryTarget, readFiles } from "../../../flows/agent/memory/memory-files.js";
import type { WriteResult } from "../../../flows/agent/memory/write.js";
import { withSession } from "../../../flows/session.js";
import { age } from "../../../ui/time.js";
import type { Context, View } from "../../command.js";

export const readMemory = (clm: Context, name: string, file: string | undefined): Promise<MemoryCopy[]> =>
  withSession(clm, async (session) => {
    const target = await memoryTarget(session, name);
    return readFiles(session, target, file === undefined ? target.files : [target.file(file)]);
  });

export function toJson({ file, content, digest }: MemoryCopy) {
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

export function infoView(now: Date): View<MemoryCopy> {
  const length = ({ file, content }: MemoryCopy) =>
    content ? `${lengthOf(content.text)} of ${file.limit}` : "missing";
  return {
    columns: [
      { title: "file", value: ({ file }) => file.name, whole: true },
      { title: "characters", value: length },
      { title: "entries", value: (copy) => toJson(copy).entries ?? undefined, drop: 3 },
      { title: "mode", value: ({ content }) => content?.mode, drop: 2 },
      { title: "owner", value: ({ content }) => content?.owner, drop: 1 },
      { title: "modified", value: ({ content }) => content && `${age(content.modified, now)} ago`, drop: 4 },
      { title: "digest", value: ({ digest }) => digest },
    ],
    data: toJson,
    name: ({ file }) => file.name,
  };
}

export function describe(copy: MemoryCopy): string {
  const { file, exists, length, limit, entries, summary } = toJson(copy);
  const head = `${file}: ${summary}`;
  if (!exists) return `${head}\n  (missing)\n`;
  const count = entries === null ? "" : `, ${entries} ${entries === 1 ? "entry" : "entries"}`;
  const body = copy.content?.text.replace(/\n$/, "") || "(empty)";
  return `${head} (${length} of ${limit} characters${count})\n${body.replace(/^(?=.)/gm, "  ")}\n`;
}

export function printResult(clm: Context, result: WriteResult): void {
  const { file, agent, length, limit, changed } = result;
  if (clm.format !== "table") clm.show({ ...result, ...(clm.dryRun && { dry_run: true }) });
  if (clm.format !== "table" || clm.dryRun) return;
  clm.ui.note(
    changed
      ? `${file} of ${agent} now has ${length} of ${limit} characters; a running agent takes it up with its next request`
      : `${file} of ${agent} has this text already; nothing was changed`,
  );
}
