import { dirname } from "node:path";
import { fill } from "../files/template.js";
import { inRange } from "../manifest/versions.js";
import type { MemoryFile, MemoryFormat } from "../memory/memory.js";
import { namedPaths } from "../plan/resolved-agent.js";

/** A file in the memories' own directory is a list of entries; SOUL.md, which is elsewhere, is one text. */
export const files: MemoryFormat["files"] = ({ manifest, paths }) => {
  const values = namedPaths(paths);
  return Object.entries(manifest.memory).map(([name, { path, ...file }]): MemoryFile => {
    const full = fill(path, values) ?? path;
    return { ...file, name, path: full, entries: dirname(full) === paths.memories };
  });
};

const separator = "\n§\n";

/** The entries as Hermes reads them: trimmed, without empty ones. */
export const entriesOf: MemoryFormat["entriesOf"] = (text) =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

export const surprisesIn: MemoryFormat["surprisesIn"] = ({ manifest, version }, file, text) => {
  const parts = file.entries ? entriesOf(text) : [text];
  const hidden = manifest.memory_hidden.filter(({ when }) => inRange(version, when));
  const surprises = parts.flatMap((part, index) => {
    const found = hidden.filter(({ pattern }) => new RegExp(pattern, "iu").test(part)).map(({ means }) => means);
    if (found.length === 0) return [];
    const which = file.entries ? `entry ${index + 1} of ${file.name}` : file.name;
    return [`${manifest.title} will not show ${which} to its model: it holds ${found.join(" and ")}`];
  });
  if (file.entries && [...new Set(parts)].join(separator) !== text.trim()) {
    surprises.push(
      `entries of ${file.name} that are empty, duplicate, or padded with blanks keep ${manifest.title} from changing it`,
    );
  }
  return surprises;
};
