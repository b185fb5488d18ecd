import { printAtOnce } from "../ui/print-at-once.js";
import { VERSION } from "../version.js";

/** Handles `--version` and `__complete`, which need no terminal, and returns whether it was one of them. */
export function runFastPath(argv: readonly string[]): boolean {
  const [first, second] = argv;
  if (argv.length === 1 && (first === "--version" || first === "version")) {
    printAtOnce(`clm ${VERSION}\n`);
    return true;
  }
  if (first !== "__complete") return false;
  const words = argv.slice(second === "--" ? 2 : 1);
  void import("./complete.js").then(async ({ answerShell }) => printAtOnce(await answerShell(words, process.env)));
  return true;
}
