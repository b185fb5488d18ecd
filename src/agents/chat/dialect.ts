import type { ResolvedAgent } from "../plan/resolved-agent.js";
import type { AnswerReader, ReadOptions } from "./stream.js";

/** How `clm chat` and the chat proof talk to agents of one type. */
export interface ChatDialect {
  request(agent: ResolvedAgent, message: ChatMessage): ChatRequest;
  /** The session that an answer's headers name: the agent may continue a long conversation in another one. */
  sessionIn(headers: Record<string, string>): string | undefined;
  readonly errorHeader?: string;
  /** Reads the body of an answer with HTTP 200, and detects failures that look like answers. */
  reader(agent: ResolvedAgent, options: ReaderOptions): AnswerReader;
}

export interface ChatMessage {
  session: string;
  text: string;
  system?: string | undefined;
  /** Asks for an answer of at most so many tokens, and not to stream it. */
  maxTokens?: number;
}

/** A request without the agent's key. */
export interface ChatRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
  streams: boolean;
  /** Milliseconds without a byte after which the agent is taken to hang. */
  silence: number;
}

export interface ReaderOptions extends Pick<ReadOptions, "headers" | "onPiece"> {
  streams: boolean;
}
