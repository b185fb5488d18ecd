import { objectFrom } from "../../text/json-object.js";

/** The lines of a server-sent event, and what they say. */

const lineEnd = /\r\n|\n|\r/;
const isData = (line: string): boolean => /^data(:|$)/.test(line);

const dataOf = (event: string): string =>
  event
    .split(lineEnd)
    .filter(isData)
    .map((line) => line.replace(/^data:? ?/, ""))
    .join("\n");

/** The object that an event holds; nothing when it holds none. */
export const objectIn = <T extends object>(event: string): T | undefined => objectFrom<T>(dataOf(event));

/** The same event with other data, on one line. */
export function withData(event: string, data: string): string {
  const lines = event.split(lineEnd);
  const at = lines.findIndex(isData);
  const kept = lines.flatMap((line, index) => (index === at ? [`data: ${data}`] : isData(line) ? [] : [line]));
  return kept.join(lineEnd.exec(event)?.[0]);
}
