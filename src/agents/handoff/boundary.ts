import { withTexts } from "./texts.js";
import { isEmpty, paired, type TranscriptMessage, turnsOf } from "./transcript.js";
import { withoutOutputs } from "./withhold-outputs.js";

export interface Boundary {
  noTools: boolean;
  redact?: ((text: string) => string) | undefined;
  /** Only so many of the last turns. */
  onlyLast?: number | undefined;
  /** Patterns of tools whose outputs are left out. */
  deny: readonly string[];
}

export interface BoundaryEffect {
  /** Messages left out. */
  messages: number;
  outputs: number;
  /** Messages in which something was replaced. */
  changed: number;
}

export interface Conversation {
  messages: readonly TranscriptMessage[];
  title: string;
  /** Messages before it, and those that the agent compacted. */
  earlier?: readonly TranscriptMessage[];
}

/** Outputs are removed first, so that quotes of every output are recognised, also of those that are left out anyway. */
export function applyBoundary(boundary: Boundary, given: Conversation) {
  const { noTools, redact = (text) => text, onlyLast, deny } = boundary;
  const { messages, outputs, withhold } = withoutOutputs(given.messages, deny, given.earlier);
  const changed = messages.filter(
    (message, at) => !outputs.has(at) && textIn(message) !== textIn(given.messages[at] as TranscriptMessage),
  );
  const spoken = paired(noTools ? messages.flatMap(withoutTools) : messages);
  const last = onlyLast === undefined ? spoken : turnsOf(spoken).slice(-onlyLast).flat();
  const clean = last.map((message) => withTexts(message, redact));
  const redacted = clean.filter((message, at) => textIn(message) !== textIn(last[at] as TranscriptMessage));
  const taken: BoundaryEffect = {
    messages: given.messages.length - clean.length,
    outputs: outputs.size,
    changed: changed.length + redacted.length,
  };
  return { messages: clean, title: redact(withhold(given.title)), taken };
}

const textIn = ({ content, calls }: TranscriptMessage): string =>
  JSON.stringify([content, calls.map((call) => call.arguments)]);

function withoutTools(message: TranscriptMessage): TranscriptMessage[] {
  if (message.role === "tool") return [];
  if (message.role === "assistant" && isEmpty(message.content)) return [];
  return [{ ...message, calls: [] }];
}
