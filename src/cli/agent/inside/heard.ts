import type { Agent } from "../../../state/agents.js";

type Stream = "stdout" | "stderr";

/** What a command said in each agent, kept until it is whole. */
export interface Heard {
  hear(agent: Agent, stream: Stream, bytes: Buffer): void;
  text(agent: Agent, stream: Stream): string;
}

interface Kept {
  chunks: Buffer[];
  size: number;
  cut: boolean;
}

// Bytes of a stream: a command may never stop, and there may be a hundred agents.
const most = 1 << 23;

/** `clean` makes text of which the end is missing fit to be shown. */
export function heard(clean: (text: string, cut: boolean) => string, room = most): Heard {
  const said = new Map<Agent, Record<Stream, Kept>>();
  const nothing = (): Kept => ({ chunks: [], size: 0, cut: false });
  return {
    hear(agent, stream, bytes) {
      const of = said.get(agent) ?? { stdout: nothing(), stderr: nothing() };
      said.set(agent, of);
      const kept = of[stream];
      const taken = bytes.subarray(0, room - kept.size);
      kept.cut ||= taken.length < bytes.length;
      if (taken.length === 0) return;
      kept.chunks.push(taken);
      kept.size += taken.length;
    },
    text(agent, stream) {
      const { chunks, cut } = said.get(agent)?.[stream] ?? nothing();
      const text = Buffer.concat(chunks).toString("utf8");
      return cut ? `${clean(text, cut)}\n` : text;
    },
  };
}
