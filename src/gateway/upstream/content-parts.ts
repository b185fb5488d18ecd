import { objectIn } from "./event-data.js";
import type { EventRewriter } from "./event-filter.js";

interface Delta {
  type?: unknown;
  item_id?: unknown;
  output_index?: unknown;
  content_index?: unknown;
}

const begins = "response.content_part.added";
const says = "response.output_text.delta";

/**
 * Hermes speaks into a part of a message without having said that there is one, as OpenAI does: the stream helper of the openai
 * library fails with "missing content at index 0" (seen). So that is said before the first word, where nobody said it.
 */
export function withContentParts(): EventRewriter {
  const begun = new Set<string>();
  return (event) => {
    if (!event.includes(says) && !event.includes(begins)) return event;
    const said = objectIn<Delta>(event.toString());
    if (!said || (said.type !== says && said.type !== begins)) return event;
    const { item_id, output_index, content_index } = said;
    const place = `${item_id} ${content_index}`;
    if (begun.has(place)) return event;
    begun.add(place);
    if (said.type === begins) return event;
    const part = { type: "output_text", text: "", annotations: [] };
    const added = { type: begins, item_id, output_index, content_index, part };
    return Buffer.concat([Buffer.from(`event: ${begins}\ndata: ${JSON.stringify(added)}\n\n`), event]);
  };
}
