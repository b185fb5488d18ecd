import { sh } from "../quote.js";

/**
 * What was typed, with one answer in place of the one given before: `--port auto` for `--port 22`. Of options that are given
 * several times, as `--set discord.token=…`, the one about the same thing.
 */
export function typedAgain(argv: readonly string[], option: string, value: string): string {
  const about = value.slice(0, value.indexOf("=") + 1);
  const isSame = (at: number) =>
    argv[at]?.startsWith(`${option}=${about}`) || (argv[at] === option && argv[at + 1]?.startsWith(about));
  const kept = argv.filter((_, at) => !isSame(at) && !(argv[at - 1] === option && isSame(at - 1)));
  // Ours holds nothing that a shell would read, and is easier on the eye without quotes.
  return `${sh`clm ${kept}`} ${option} ${value}`;
}
