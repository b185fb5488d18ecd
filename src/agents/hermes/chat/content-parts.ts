import { type EventRewriter, objectIn } from "../../chat/events.js";

const partAdded = "response.content_part.added";
const textDelta = "response.output_text.delta";

/** Announces a part before its text. Without it the openai library fails: "missing content at index 0" (seen). */
export function withContentParts(): EventRewriter {
  const announced = new Set<string>();
  return (event) => {
    if (!event.includes(textDelta) && !event.includes(partAdded)) return event;
    const delta = objectIn<Record<string, unknown>>(event);
    if (!delta || (delta.type !== textDelta && delta.type !== partAdded)) return event;
    const { item_id, output_index, content_index } = delta;
    const id = `${item_id} ${content_index}`;
    if (announced.has(id)) return event;
    announced.add(id);
    if (delta.type === partAdded) return event;
    const part = { type: "output_text", text: "", annotations: [] };
    const added = { type: partAdded, item_id, output_index, content_index, part };
    return Buffer.concat([Buffer.from(`event: ${partAdded}\ndata: ${JSON.stringify(added)}\n\n`), event]);
  };
}
