import { entriesOf, lengthOf } from "../../../agents/hermes/memory.js";
import type { Seen } from "../../../flows/agent/memory/on-host.js";
import type { Written } from "../../../flows/agent/memory/write.js";
import { age } from "../../../ui/time.js";
import type { Context, View } from "../../command.js";

/** A memory file for a program; `text` only where contents are shown. */
export function machine({ file, found, digest }: Seen) {
  const text = found?.bytes.toString("utf8");
  return {
    file: file.name,
    path: file.path,
    summary: file.summary,
    exists: found !== undefined,
    limit: file.limit,
    length: text === undefined ? 0 : lengthOf(text),
    entries: file.entries ? entriesOf(text ?? "").length : null,
    mode: found?.mode ?? null,
    owner: found?.owner ?? null,
    modified: found?.modified ?? null,
    digest,
  };
}

export function infoView(now: Date): View<Seen> {
  const of =
    <V>(value: (row: ReturnType<typeof machine>) => V) =>
    (seen: Seen) =>
      value(machine(seen));
  return {
    columns: [
      { title: "file", value: ({ file }) => file.name, whole: true },
      { title: "characters", value: of(({ exists, length, limit }) => (exists ? `${length} of ${limit}` : "missing")) },
      { title: "entries", value: of(({ entries }) => entries ?? undefined), drop: 3 },
      { title: "mode", value: of(({ mode }) => mode ?? undefined), drop: 2 },
      { title: "owner", value: of(({ owner }) => owner ?? undefined), drop: 1 },
      {
        title: "modified",
        value: of(({ modified }) => (modified ? `${age(modified, now)} ago` : undefined)),
        drop: 4,
      },
      { title: "digest", value: ({ digest }) => digest },
    ],
    data: machine,
    name: ({ file }) => file.name,
  };
}

/** One file for a person: a line about it, and its text. */
export function described(seen: Seen): string {
  const { file, exists, length, limit, entries, summary } = machine(seen);
  const head = `${file}: ${summary}`;
  if (!exists) return `${head}\n  (missing)\n`;
  const count = entries === null ? "" : `, ${entries} ${entries === 1 ? "entry" : "entries"}`;
  const text = seen.found?.bytes.toString("utf8") ?? "";
  const body = text === "" ? "(empty)" : text.replace(/\n$/, "");
  return `${head} (${length} of ${limit} characters${count})\n${body.replace(/^(?=.)/gm, "  ")}\n`;
}

/** Tells what became of a write. */
export function tellWritten(clm: Context, written: Written): void {
  const { file, agent, length, limit, changed } = written;
  if (clm.format !== "table") clm.show({ ...written, ...(clm.dryRun && { dry_run: true }) }, () => "");
  if (clm.format !== "table" || clm.dryRun) return;
  clm.ui.note(
    changed
      ? `${file} of ${agent} now has ${length} of ${limit} characters; a running agent takes it up with its next request`
      : `${file} of ${agent} is as it was; nothing was changed`,
  );
}
