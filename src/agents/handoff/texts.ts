import type { Part, TranscriptMessage } from "./transcript.js";

type Change = (text: string) => string;

/** Changes every text of a message: its content, arguments of tools, and addresses of pictures. */
export function withTexts(message: TranscriptMessage, change: Change): TranscriptMessage {
  const { content, calls } = message;
  return {
    ...message,
    content: typeof content === "string" ? change(content) : content.map((part) => mapTexts(part, change) as Part),
    calls: calls.map((call) => ({ ...call, arguments: withinJson(call.arguments, change) })),
  };
}

/** Changes the texts in a JSON document. Without changes it keeps its formatting; what is not JSON is changed as a text. */
function withinJson(json: string, change: Change): string {
  const value = parsed(json);
  if (value === undefined) return change(json);
  const after = JSON.stringify(mapTexts(value, change, change));
  const text = after === JSON.stringify(value) ? json : after;
  const again = change(text);
  if (again === text) return text;
  // A match across several texts is found only in the whole, and removed only if the rest is still JSON.
  return parsed(again) !== undefined && change(again) === again ? again : "{}";
}

/**
 * Changes the texts in a value; `change` is also told the member whose value a text is. `naming` changes the names of
 * members, which a model may have made up.
 */
export function mapTexts(
  value: unknown,
  change: (text: string, member: string) => string,
  naming: Change = (name) => name,
  member = "",
): unknown {
  if (typeof value === "string") return change(value, member);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change, naming));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, each]) => [naming(name), mapTexts(each, change, naming, name)]));
}

/** Every text in the output of a tool: the whole, and the texts in it when it is JSON, as most outputs are. */
export function textsIn(content: TranscriptMessage["content"]): string[] {
  const found: string[] = [];
  const look = (value: unknown, depth: number): void => {
    if (typeof value === "string") {
      found.push(value);
      if (depth < 4 && /^\s*[[{"]/.test(value)) look(parsed(value), depth + 1);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        if (!Array.isArray(value)) found.push(name);
        look(each, depth);
      }
    }
  };
  look(content, 0);
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
