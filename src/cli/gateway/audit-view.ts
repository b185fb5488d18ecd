import type { RequestLine } from "../../gateway/audit/request-line.js";
import { padded } from "../../ui/columns.js";
import type { Paint } from "../../ui/paint.js";
import { oneLine } from "../../ui/plain.js";
import type { Column } from "../../ui/table.js";
import type { Context, View } from "../command.js";
import { dollars } from "./keys/money.js";

const isBad = ({ status, code }: RequestLine): boolean => status >= 400 || code !== undefined;

const columns: (Column<RequestLine> & { room: number })[] = [
  { title: "time", whole: true, room: 20, value: ({ at }) => at.replace("T", " ").replace(/\.\d+Z$/, "Z") },
  { title: "who", room: 12, least: 8, value: ({ key, from }) => key?.name ?? from },
  { title: "agent", room: 20, value: ({ target }) => target },
  { title: "model", drop: 2, room: 16, value: ({ model }) => model },
  {
    title: "status",
    whole: true,
    room: 6,
    style: (line) => (isBad(line) ? "red" : undefined),
    value: ({ status, code }) => (code === undefined ? status : `${status} ${code}`),
  },
  { title: "tokens", drop: 3, room: 9, value: ({ tokens }) => tokens && tokensText(tokens) },
  { title: "usd", drop: 4, room: 8, value: ({ usd }) => (usd === undefined ? undefined : dollars(usd * 1e9)) },
  { title: "ms", drop: 1, room: 5, value: ({ ms }) => Math.round(ms) },
];

export const view: View<RequestLine> = {
  columns,
  name: ({ id }) => id,
  empty: "No matching requests.",
};

const tokensText = ({ input, output, estimated, claimed }: NonNullable<RequestLine["tokens"]>): string =>
  `${estimated ? "~" : claimed ? "!" : ""}${input}+${output}`;

export function requestRow({ screen }: Context): (line: RequestLine) => string {
  const dyed = (style: keyof Paint | undefined, text: string) => (screen && style ? screen.paint[style](text) : text);
  return (line) =>
    columns
      .map(({ value, room, style }) => {
        const text = oneLine(String(value(line) ?? "")) || "-";
        return `${dyed(style?.(line), text)}${" ".repeat(Math.max(0, padded(text, room).length - text.length))}`;
      })
      .join("   ")
      .trimEnd();
}
