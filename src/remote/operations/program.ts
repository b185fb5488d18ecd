import { createHash } from "node:crypto";
import { sh, type Word } from "../../quote.js";
import commands from "./library/commands.sh?raw";
import protocol from "./library/converge.sh?raw";
import files from "./library/files.sh?raw";
import processes from "./library/processes.sh?raw";
import rights from "./library/rights.sh?raw";
import units from "./library/units.sh?raw";
import users from "./library/users.sh?raw";
import { bytesOf, jobDigest, type Operation } from "./operation.js";

/** Operations as one script for the host, and the contents that may follow it. */
export interface Program {
  script: string;
  contents: ReadonlyMap<number, Buffer>;
}

// The host has no use for the comments.
const library = [protocol, rights, files, processes, users, units, commands].join("").replace(/^\s*#.*\n/gm, "");

/** The script begins each line with `nonce`. It contains digests of contents, never the contents. */
export function programFor(operations: readonly Operation[], nonce: string): Program {
  const contents = new Map(
    operations.flatMap((op, index) =>
      "content" in op && op.content !== undefined ? [[index, bytesOf(op.content)] as const] : [],
    ),
  );
  const calls = operations.map((op, index) => sh`op ${index} ${wordsFor(op, contents.get(index))}`);
  // The host reads the list by lines.
  const paths = operations.flatMap((op, index) => {
    const path = pathOf(op);
    return path === undefined || path.includes("\n") ? [] : [contents.get(index)?.length ?? "-", path];
  });
  const files = ["files() {", sh`read_files ${paths}`, "}"];
  const script = [library, `nonce=${nonce}`, ...files, "operations() {", ":", ...calls, "}", "converge", ""].join("\n");
  return { script, contents };
}

/** The path whose owner, mode and content an operation is about. */
function pathOf(op: Operation): string | undefined {
  if (op.kind === "file" || op.kind === "dir") return op.path;
  return op.kind === "unit" && op.content !== undefined ? unitPath(op.name) : undefined;
}

const unitPath = (name: string): string => `/etc/systemd/system/${name}`;
const yes = (value: boolean | undefined): Word => (value ? "yes" : "");
const seconds = (milliseconds: number): Word => Math.ceil(milliseconds / 1000);

/** The words of one call, in the order in which the library's check names them; an empty word means "any". */
function wordsFor(op: Operation, content: Buffer | undefined): Word[] {
  switch (op.kind) {
    case "user":
      return [
        "user",
        op.name,
        op.home,
        op.shell,
        yes(op.locked),
        yes(op.system),
        op.comment ?? "",
        ...(op.groups ?? []),
      ];
    case "dir":
      return ["dir", op.path, op.owner, op.group ?? "", op.mode.toString(8)];
    case "file":
      return [
        "file",
        op.path,
        op.owner,
        op.group ?? "",
        op.mode.toString(8),
        ...contentWords(op.path, content),
        op.seed ? "seed" : "",
        op.restarts ?? "",
      ];
    case "unit": {
      const enabled = op.enabled === undefined ? "" : op.enabled ? "yes" : "no";
      const path = unitPath(op.name);
      const file = content ? [path, "root", "", "644", ...contentWords(path, content)] : [];
      return ["unit", op.name, enabled, op.state ?? "", ...file];
    }
    case "absent":
      return [`absent_${op.what}`, op.name];
    case "pkg":
      return ["pkg", ...op.names];
    case "run":
      return ["run", op.as, op.cwd ?? "", seconds(op.timeout), op.creates ?? "", ...op.argv];
    case "job": {
      // The manager expands $WORDS of a command; doubled, a dollar stays one (seen with systemd 252).
      const argv = op.argv.map((word) => word.replaceAll("$", "$$$$"));
      return ["job", op.name, jobDigest(op), op.as, op.cwd ?? "", seconds(op.timeout), op.creates ?? "", ...argv];
    }
  }
}

/** Size and digest of a content, and the key in the name of the temporary file it is written to. */
function contentWords(path: string, content: Buffer | undefined): Word[] {
  const bytes = content ?? Buffer.alloc(0);
  return [bytes.length, sha256(bytes), sha256(path).slice(0, 16)];
}

const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");
