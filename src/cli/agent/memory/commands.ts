import { command, flag, type Noun, optional, required, text } from "../../command.js";
import { agentName, changesOne, sudoOption } from "../../shared-options.js";

const lists = ["table", "json", "yaml"] as const;
const takesEffect = "A running agent uses it from its next request on; nothing is restarted.";

export const show = command({
  path: "agent memory show",
  summary: "show an agent's memory files",
  description: `Reads the files from the host and prints their contents: MEMORY.md (the agent's notes, at most 2200
characters), USER.md (what it knows about its user, at most 1375) and SOUL.md (its character, at most 20000).`,
  args: { name: agentName, file: optional("only this file", "memory-file") },
  options: sudoOption,
  formats: lists,
  examples: ["clm agent memory show hermes-test", "clm agent memory show hermes-test USER.md -o json"],
  load: () => import("./read.js"),
});

export const info = command({
  path: "agent memory info",
  summary: "list an agent's memory files",
  description:
    "Shows for each file its length and limit in characters (code points), the number of entries, mode, time and digest.",
  args: { name: agentName, file: optional("only this file", "memory-file") },
  options: sudoOption,
  formats: lists,
  examples: ["clm agent memory info hermes-test", "clm agent memory info hermes-test -o json"],
  load: () => import("./read.js"),
});

export const read = command({
  path: "agent memory read",
  summary: "print one memory file",
  description: `Prints only the file, byte for byte, for a pipe or a file. On a terminal, escape sequences are
removed. FILE defaults to MEMORY.md.`,
  args: { name: agentName, file: optional("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: sudoOption,
  examples: [
    "clm agent memory read hermes-test USER.md",
    "clm agent memory read hermes-test > MEMORY.md   # save a copy",
  ],
  load: () => import("./read.js"),
});

export const edit = command({
  path: "agent memory edit",
  summary: "edit a memory file in your editor",
  description: `Opens the file in $VISUAL, $EDITOR or vi, and writes it back under the agent's own lock. Entries are
separated by a line that contains only §. FILE defaults to MEMORY.md; a missing file is created.

When the file cannot be written back (too long, changed by the agent in the meantime, host unreachable), your version
is kept on this machine and its path is printed. ${takesEffect}`,
  args: { name: agentName, file: optional("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: sudoOption,
  ...changesOne,
  examples: [
    "clm agent memory edit hermes-test USER.md",
    "clm agent memory edit hermes-test   # MEMORY.md, in $VISUAL or $EDITOR, as EDITOR='code --wait'",
  ],
  load: () => import("./change.js"),
});

export const write = command({
  path: "agent memory write",
  summary: "replace a memory file",
  description: `Replaces the whole file with the text from stdin or --from. The length is checked before anything is
sent. CRLF becomes LF, and one newline at the end of MEMORY.md and USER.md is removed, as the agent itself writes
them.

With --if-digest the file is replaced only if it is still the one that 'clm agent memory info' showed. ${takesEffect}`,
  args: { name: agentName, file: required("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: {
    from: text("PATH", "read the text from PATH instead of stdin", { completes: "file" }),
    ifDigest: text("SHA256", "only if the file has this digest ('absent': only if there is no file)"),
    ...sudoOption,
  },
  ...changesOne,
  examples: [
    "echo 'Prefers short answers.' | clm agent memory write hermes-test USER.md",
    "clm agent memory write hermes-test SOUL.md --from soul.md",
    "clm agent memory write hermes-test MEMORY.md --from notes.md --if-digest absent",
  ],
  load: () => import("./change.js"),
});

export const remove = command({
  path: "agent memory delete",
  summary: "delete a memory file",
  description: `Deletes MEMORY.md or USER.md, or both with --all, after a question. No copy is kept; make one with
'clm agent memory read'. SOUL.md cannot be deleted: the agent would write its default again.`,
  args: { name: agentName, file: optional("MEMORY.md or USER.md", "memory-file") },
  options: { all: flag("delete both MEMORY.md and USER.md"), ...sudoOption },
  mutates: true,
  examples: ["clm agent memory delete hermes-test USER.md", "clm agent memory delete hermes-test --all --yes"],
  load: () => import("./change.js"),
});

export const memory: Noun = {
  name: "agent memory",
  summary: "read and change an agent's memory files",
  commands: [show, info, read, edit, write, remove],
};
