import { command, flag, type Noun, optional, required, text } from "../../command.js";
import { agentName, sudo } from "../../recurring.js";

const lists = ["table", "json", "yaml"] as const;

const soon = "A running agent takes it up with its next request; it is not restarted.";

export const show = command({
  path: "agent memory show",
  summary: "show what an agent remembers",
  description: `Reads the files from the host and shows them with their contents: MEMORY.md (the agent's notes, at most 2200 characters),
USER.md (what it knows of its user, at most 1375) and SOUL.md (who it is, at most 20000).`,
  args: { name: agentName, file: optional("one file instead of all", "memory-file") },
  options: sudo,
  formats: lists,
  examples: [
    { run: "clm agent memory show hermes-test" },
    { run: "clm agent memory show hermes-test USER.md -o json" },
  ],
  load: () => import("./show.js"),
});

export const info = command({
  path: "agent memory info",
  summary: "list the files an agent remembers in",
  description:
    "Shows of each file its length and limit in characters (code points), the number of entries, mode, time and digest.",
  args: { name: agentName, file: optional("one file instead of all", "memory-file") },
  options: sudo,
  formats: lists,
  examples: [{ run: "clm agent memory info hermes-test" }, { run: "clm agent memory info hermes-test -o json" }],
  load: () => import("./info.js"),
});

export const read = command({
  path: "agent memory read",
  summary: "print one memory file as it is",
  description: `Prints the file to stdout and nothing else, byte for byte, for a pipe or a file. On a terminal, escape sequences are left out.
Without FILE it is MEMORY.md.`,
  args: { name: agentName, file: optional("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: sudo,
  examples: [
    { run: "clm agent memory read hermes-test USER.md" },
    { run: "clm agent memory read hermes-test > MEMORY.md", note: "keep a copy" },
  ],
  load: () => import("./read.js"),
});

export const edit = command({
  path: "agent memory edit",
  summary: "change a memory file in your editor",
  description: `Opens the file in $VISUAL, $EDITOR or vi, and puts it back under the agent's own lock when you are done. Entries are
separated by a line with nothing but §. Without FILE it is MEMORY.md; a file that is missing is made.

What cannot be put back, because it is too long, because the agent wrote the file in the meantime or because the host went
away, is kept on this machine, and clm says where. ${soon}`,
  args: { name: agentName, file: optional("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: sudo,
  formats: lists,
  mutates: true,
  examples: [
    { run: "clm agent memory edit hermes-test USER.md" },
    { run: "clm agent memory edit hermes-test", note: "MEMORY.md, in $VISUAL or $EDITOR, as EDITOR='code --wait'" },
  ],
  load: () => import("./edit.js"),
});

export const write = command({
  path: "agent memory write",
  summary: "replace a memory file",
  description: `Replaces the whole file with what comes on stdin, or with --from. Its length is checked before anything is sent. Lines that
end with CRLF end with LF afterwards, and of MEMORY.md and USER.md one newline at the very end is dropped, as the agent
itself writes them.

With --if-digest nothing is written unless the file still is the one that 'clm agent memory info' showed. ${soon}`,
  args: { name: agentName, file: required("MEMORY.md, USER.md or SOUL.md", "memory-file") },
  options: {
    from: text("PATH", "read the text from PATH instead of stdin", { completes: "file" }),
    ifDigest: text("SHA256", "only when the file has this digest now ('absent': only when it is missing)"),
    ...sudo,
  },
  formats: lists,
  mutates: true,
  examples: [
    { run: "echo 'Prefers short answers.' | clm agent memory write hermes-test USER.md" },
    { run: "clm agent memory write hermes-test SOUL.md --from soul.md" },
    { run: "clm agent memory write hermes-test MEMORY.md --from notes.md --if-digest absent" },
  ],
  load: () => import("./write.js"),
});

export const remove = command({
  path: "agent memory delete",
  summary: "delete a memory file",
  description: `Deletes MEMORY.md or USER.md, or both with --all, and asks first. Nothing of it is kept: 'clm agent memory read' makes a
copy. SOUL.md cannot be deleted: the agent would only write its own again.`,
  args: { name: agentName, file: optional("MEMORY.md or USER.md", "memory-file") },
  options: { all: flag("MEMORY.md and USER.md"), ...sudo },
  mutates: true,
  examples: [
    { run: "clm agent memory delete hermes-test USER.md" },
    { run: "clm agent memory delete hermes-test --all --yes" },
  ],
  load: () => import("./delete.js"),
});

export const memory: Noun = {
  name: "agent memory",
  summary: "read and change what an agent remembers",
  commands: [show, info, read, edit, write, remove],
};
