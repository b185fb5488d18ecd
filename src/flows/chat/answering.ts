import type { AnswerFailure, FailureCause } from "../../agents/chat/failure.js";
import { refusal } from "../../agents/chat/stream.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { Fault } from "../../errors.js";

/**
 * Milliseconds. An agent that streams sends a sign of life every 30 s; one that sends none for this long does not think any more.
 * Before a whole answer there is none, and a turn of Codex may take ten minutes.
 */
export const silences = { streamed: 120_000, whole: 900_000 };

// Bytes.
const longestRefusal = 64 * 1024;
export const longestAnswer = 64 * 1024 * 1024;

/** A signal that also says stop when an agent has been silent for too long. */
export function withSilenceLimit(signal: AbortSignal, { name, ref }: ResolvedAgent, silence: number) {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  const restart = () => {
    end();
    timer = setTimeout(() => limit.abort(fellSilent(name, ref, silence)), silence);
  };
  restart();
  return {
    signal: AbortSignal.any([signal, limit.signal]),
    end,
    async *watched(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      try {
        restart();
        for await (const chunk of body) {
          restart();
          yield chunk;
        }
      } finally {
        end();
      }
    },
  };
}

const fellSilent = (name: string, ref: string, silence: number): Fault =>
  new Fault("remote-timeout", `${name} fell silent`, {
    why: `nothing came for ${silence / 1000} s, not even a sign of life`,
    next: `clm agent doctor ${ref}`,
  });

/** The beginning of what was said: enough to tell why. */
export async function bodyText(body: AsyncIterable<Buffer>, longest = longestRefusal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > longest) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The model gave none, or a failure in place of one. */
export function noAnswer({ name, ref }: ResolvedAgent, session: string, { cause, status, text }: AnswerFailure): Fault {
  const means = meanings[cause];
  return new Fault("remote-failed", `${name} got no answer from its model`, {
    why: [...(means ? [means] : []), brief(text, 600)],
    next: means ? `clm agent configure ${ref} --stage providers` : `clm agent doctor ${ref}`,
    data: { session, cause, ...(status !== undefined && { status }) },
  });
}

/** What only another provider, key or model changes. */
const meanings: Partial<Record<FailureCause, string>> = {
  "key-refused": "the provider refuses the key",
  "account-empty": "the provider's account has run out",
  "request-refused": "the provider refuses the request: the model may be unknown to it",
};

/** The API did not take the message. */
export function refused({ name, ref }: ResolvedAgent, session: string, status: number, body: string): Fault {
  const next: Record<number, string> = {
    401: `clm agent configure ${ref}`,
    413: `clm chat ${ref} --help`,
    429: `clm chat ${ref} --session ${session}`,
  };
  const means: Record<number, string> = {
    401: "it refuses its own key",
    413: "the message is larger than it takes",
    429: "it has too much to do already; ask again in a moment",
  };
  return new Fault("remote-failed", `${name} did not take the message`, {
    why: [...(means[status] ? [means[status]] : []), brief(refusal(status, body), 600)],
    next: next[status] ?? `clm agent doctor ${ref}`,
    data: { status, session },
  });
}
