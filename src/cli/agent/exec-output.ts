import { keepOutput } from "../../flows/host/exec.js";
import type { Agent } from "../../state/agents.js";

type Stream = "stdout" | "stderr";

/** The output of a command in each of several agents, collected until it is complete. */
export class ExecOutput {
  readonly #streams = new Map<Agent, Record<Stream, ReturnType<typeof keepOutput>>>();
  readonly #clean: (text: string, cut: boolean) => string;
  readonly #maxBytes: number | undefined;

  /** `clean` removes what a truncated text may hold of a secret. */
  constructor(clean: (text: string, cut: boolean) => string, maxBytes?: number) {
    this.#clean = clean;
    this.#maxBytes = maxBytes;
  }

  add(agent: Agent, stream: Stream, bytes: Buffer): void {
    const make = () => keepOutput(this.#clean, this.#maxBytes);
    const streams = this.#streams.get(agent) ?? { stdout: make(), stderr: make() };
    this.#streams.set(agent, streams);
    streams[stream].add(bytes);
  }

  of(agent: Agent): Record<Stream, string> {
    const kept = this.#streams.get(agent);
    return { stdout: kept?.stdout.text() ?? "", stderr: kept?.stderr.text() ?? "" };
  }
}
