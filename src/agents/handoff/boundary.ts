import { withTexts } from "./texts.js";
import { isEmpty, paired, type TranscriptMessage, turnsOf } from "./transcript.js";
import { withoutOutputs } from "./withhold-outputs.js";

/** What may not travel. */
export interface Boundary {
  noTools: boolean;
  /** Takes secrets out of a text. */
  redact?: ((text: string) => string) | undefined;
  /** Only so many turns, the last ones. */
  onlyLast?: number | undefined;
  /** Patterns of tools whose outputs stay. */
  deny: readonly string[];
}

/** What the boundary took away, for people. */
export interface BoundaryEffect {
  /** Messages that do not travel at all. */
  messages: number;
  /** Outputs of denied tools. */
  outputs: number;
  /** Messages in which something was replaced. */
  changed: number;
}

export interface Conversation {
  said: readonly TranscriptMessage[];
  title: string;
  /** What was said before it, and what the agent put a summary in place of. */
  earlier?: readonly TranscriptMessage[];
}

export interface BoundedConversation {
  said: TranscriptMessage[];
  title: string;
  taken: BoundaryEffect;
}

/**
 * The part of a conversation that may travel. Outputs are taken out before anything else is, so that a quote is known by all
 * that was answered, also by what does not travel itself.
 */
export function applyBoundary(boundary: Boundary, given: Conversation): BoundedConversation {
  const { noTools, redact = (text) => text, onlyLast, deny } = boundary;
  const { said, outputs, withhold } = withoutOutputs(given.said, deny, given.earlier);
  const changed = said.filter(
    (message, at) => !outputs.has(at) && textIn(message) !== textIn(given.said[at] as TranscriptMessage),
  );
  const spoken = paired(noTools ? said.flatMap(withoutTools) : said);
  const last = onlyLast === undefined ? spoken : turnsOf(spoken).slice(-onlyLast).flat();
  const clean = last.map((message) => withTexts(message, redact));
  const redacted = clean.filter((message, at) => textIn(message) !== textIn(last[at] as TranscriptMessage));
  return {
    said: clean,
    title: redact(withhold(given.title)),
    taken: {
      messages: given.said.length - clean.length,
      outputs: outputs.size,
      changed: changed.length + redacted.length,
    },
  };
}

const textIn = ({ content, calls }: TranscriptMessage): string =>
  JSON.stringify([content, calls.map((call) => call.arguments)]);

function withoutTools(message: TranscriptMessage): TranscriptMessage[] {
  if (message.role === "tool") return [];
  if (message.role === "assistant" && isEmpty(message.content)) return [];
  return [{ ...message, calls: [] }];
}
