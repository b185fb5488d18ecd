import { sh } from "../quote.js";

/** `--port auto` for `--port 22`. Of a repeatable option (`--set discord.token=…`) the one for the same key. */
export function typedAgain(argv: readonly string[], option: string, value: string): string {
  const about = value.slice(0, value.indexOf("=") + 1);
  const isSame = (at: number) =>
    argv[at]?.startsWith(`${option}=${about}`) || (argv[at] === option && argv[at + 1]?.startsWith(about));
  const kept = argv.filter((_, at) => !isSame(at) && !(argv[at - 1] === option && isSame(at - 1)));
  // The new value needs no quotes.
  return `${sh`clm ${kept}`} ${option} ${value}`;
}
