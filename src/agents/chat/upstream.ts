import type { ResolvedAgent } from "../plan/resolved-agent.js";
import type { EventRewriter } from "./events.js";
import type { FailureSigns } from "./failure.js";

/** How the gateway passes requests on to agents of one type. Everything else about the protocol is as in OpenAI's API. */
export interface UpstreamDialect {
  /** Paths that an agent answers itself. */
  paths: readonly string[];
  /** Bytes of a request that it reads. */
  maxBodyBytes: number;
  /** Milliseconds that an idle connection is kept: less than the agent's server keeps it, so that no request meets its end. */
  idleTimeout: number;
  /** Members that select another model or provider than the agent's own, which is the one that is priced. They are removed. */
  removedMembers: readonly string[];
  sessionHeaders: SessionHeaders;
  /** Headers of an answer that callers get begin with this. */
  headerPrefix: string;
  /** A header of an answer whose text may contain secrets. */
  errorHeader: string;
  /**
   * Ids of sessions that the agent derives from the first message. Two callers with the same first message would share
   * one, so the gateway names a session for each caller and never gives out a derived id.
   */
  derivedSession: RegExp;
  /** Makes the events of one streamed answer what clients of OpenAI expect. */
  eventRewriter(path: "chat" | "responses"): EventRewriter;
  /** The same for an answer of /v1/responses that is not streamed. */
  rewriteResponse(body: Buffer): Buffer;
  agent(agent: ResolvedAgent): UpstreamAgent;
}

/** The headers by which a caller names a session, in lower case. */
export interface SessionHeaders {
  session?: string;
  /** Scopes the agent's long-term memory. */
  sessionKey?: string;
}

export interface UpstreamAgent {
  signs: FailureSigns;
  /** Whether the text of its answers is streamed: if not, only whole answers have text. */
  streams: boolean;
}
