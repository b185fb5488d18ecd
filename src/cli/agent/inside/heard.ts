import { keepOutput } from "../../../flows/host/exec.js";
import type { Agent } from "../../../state/agents.js";

type Stream = "stdout" | "stderr";

/** What a command said in each agent, kept until it is whole. */
export interface Heard {
  hear(agent: Agent, stream: Stream, bytes: Buffer): void;
  text(agent: Agent, stream: Stream): string;
}

/** `clean` makes text of which the end is missing fit to be shown. */
export function heard(clean: (text: string, cut: boolean) => string, room?: number): Heard {
  const said = new Map<Agent, Record<Stream, ReturnType<typeof keepOutput>>>();
  return {
    hear(agent, stream, bytes) {
      const of = said.get(agent) ?? { stdout: keepOutput(clean, room), stderr: keepOutput(clean, room) };
      said.set(agent, of);
      of[stream].add(bytes);
    },
    text: (agent, stream) => said.get(agent)?.[stream].text() ?? "",
  };
}
