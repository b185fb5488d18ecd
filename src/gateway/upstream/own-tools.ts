import { objectFrom } from "../../text/json-object.js";
import { objectIn, withData } from "./event-data.js";
import type { EventRewriter } from "./event-filter.js";

/**
 * Hermes runs its tools itself and tells of them in /v1/responses as `function_call` and `function_call_output`. To who calls
 * OpenAI a function call is a task of their own: Codex answers "unsupported call: terminal" (seen). So they are left out.
 */
const ownItems = new Set<unknown>(["function_call", "function_call_output"]);

interface Item {
  type?: unknown;
}

interface Response {
  output?: unknown;
}

/** The members of an event that say what it is about. */
interface Said {
  type?: unknown;
  item?: Item;
  output_index?: unknown;
  response?: Response;
}

const nothing = Buffer.alloc(0);

/**
 * Hermes tells a chat of its tools by events with a name (`hermes.tool.progress`), which chat completions have not: the openai
 * library takes each for a chunk of the answer, and fails because it has no `choices` (seen).
 */
export const withoutToolProgress: EventRewriter = (event) =>
  /^event: ?hermes\./.test(event.toString("latin1", 0, 16)) ? nothing : event;

/** For server-sent events. What is not about tools passes byte for byte. */
export function withoutOwnToolEvents(): EventRewriter {
  /** The places that they had in the agent's own count. */
  const leftOut = new Set<number>();

  return (event) => {
    if (leftOut.size === 0 && !event.includes("function_call")) return event;
    const text = event.toString("utf8");
    const said = objectIn<Said>(text);
    if (!said) return event;
    if (isAboutOwnTool(said)) {
      if (typeof said.output_index === "number") leftOut.add(said.output_index);
      return nothing;
    }
    const { output_index: place, response } = said;
    const before = typeof place === "number" ? [...leftOut].filter((other) => other < place).length : 0;
    const shown = response && shownOf(response);
    if (before === 0 && shown === response) return event;
    const changed = {
      ...said,
      ...(before > 0 && { output_index: (place as number) - before }),
      ...(shown !== response && { response: shown }),
    };
    return Buffer.from(withData(text, JSON.stringify(changed)));
  };
}

function isAboutOwnTool({ type, item }: Said): boolean {
  if (typeof type !== "string") return false;
  if (type.startsWith("response.function_call_arguments.")) return true;
  return type.startsWith("response.output_item.") && ownItems.has(item?.type);
}

/** For an answer that came whole. */
export function withoutOwnTools(body: Buffer): Buffer {
  if (!body.includes("function_call")) return body;
  const said = objectFrom<Response>(body.toString("utf8"));
  const shown = said && shownOf(said);
  return shown === said ? body : Buffer.from(JSON.stringify(shown));
}

/** The same one when it holds none of them. */
function shownOf<R extends Response>(response: R): R {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  const shown = output.filter((item: Item | null) => !ownItems.has(item?.type));
  return shown.length === output.length ? response : { ...response, output: shown };
}
