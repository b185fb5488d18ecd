import { objectFrom } from "../../../text/json-object.js";
import { type EventRewriter, objectIn, withObject } from "../../chat/events.js";

/** Hermes runs these itself; clients take them for theirs to run: Codex answers "unsupported call: terminal" (seen). */
const ownItems = new Set<unknown>(["function_call", "function_call_output"]);

interface Response {
  output?: unknown;
}

interface ResponseEvent {
  type?: unknown;
  item?: { type?: unknown };
  output_index?: unknown;
  response?: Response;
}

const nothing = Buffer.alloc(0);

/** The openai library takes each `hermes.tool.progress` event for a chunk, and fails as it has no `choices` (seen). */
export const withoutToolProgress: EventRewriter = (event) =>
  /^event: ?hermes\./.test(event.toString("latin1", 0, 16)) ? nothing : event;

/** Events that are not about tools stay byte for byte, but for the index of the items after a removed one. */
export function withoutOwnToolEvents(): EventRewriter {
  const removed = new Set<number>();

  return (event) => {
    if (removed.size === 0 && !event.includes("function_call")) return event;
    const parsed = objectIn<ResponseEvent>(event);
    if (!parsed) return event;
    const { output_index: index, response } = parsed;
    if (isAboutOwnTool(parsed)) {
      if (typeof index === "number") removed.add(index);
      return nothing;
    }
    const before = typeof index === "number" ? [...removed].filter((other) => other < index).length : 0;
    const shown = response && withoutOwnItems(response);
    if (before === 0 && shown === response) return event;
    return withObject(event, {
      ...parsed,
      ...(before > 0 && { output_index: (index as number) - before }),
      ...(shown !== response && { response: shown }),
    });
  };
}

function isAboutOwnTool({ type, item }: ResponseEvent): boolean {
  if (typeof type !== "string") return false;
  if (type.startsWith("response.function_call_arguments.")) return true;
  return type.startsWith("response.output_item.") && ownItems.has(item?.type);
}

export function withoutOwnTools(body: Buffer): Buffer {
  if (!body.includes("function_call")) return body;
  const response = objectFrom<Response>(body.toString("utf8"));
  const shown = response && withoutOwnItems(response);
  return shown === response ? body : Buffer.from(JSON.stringify(shown));
}

/** The same object when it holds none of them. */
function withoutOwnItems<R extends Response>(response: R): R {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  const shown = output.filter((item: ResponseEvent["item"] | null) => !ownItems.has(item?.type));
  return shown.length === output.length ? response : { ...response, output: shown };
}
