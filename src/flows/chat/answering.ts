import { refusal } from "../../agents/chat/stream.js";
import { brief } from "../../agents/proof/judge.js";
import type { Subject } from "../../agents/subject.js";
import { Fault } from "../../errors.js";

/** An agent that thinks sends a sign of life every 30 s; one that sends none for this long does not think any more. */
const silence = 120_000;

const longestRefusal = 64 * 1024;

/** A signal that also says stop when an agent has been silent for too long. */
export function withSilenceLimit(signal: AbortSignal, { name, word }: Subject) {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  const restart = () => {
    end();
    timer = setTimeout(() => limit.abort(fellSilent(name, word)), silence);
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

const fellSilent = (name: string, word: string): Fault =>
  new Fault("remote-timeout", `${name} fell silent`, {
    why: `nothing came for ${silence / 1000} s, not even a sign of life`,
    next: `clm agent doctor ${word}`,
  });

/** The beginning of what was said: enough to tell why. */
export async function bodyText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > longestRefusal) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The model gave none, or a failure in place of one. */
export const noAnswer = ({ name, word }: Subject, session: string, why: string): Fault =>
  new Fault("remote-failed", `${name} got no answer from its model`, {
    why: brief(why, 600),
    next: `clm agent doctor ${word}`,
    data: { session },
  });

/** The API did not take the message. */
export function refused({ name, word }: Subject, session: string, status: number, body: string): Fault {
  const next: Record<number, string> = {
    401: `clm agent configure ${word}`,
    413: `clm chat ${word} --help`,
    429: `clm chat ${word} --session ${session}`,
  };
  const means: Record<number, string> = {
    401: "it refuses its own key",
    413: "the message is larger than it takes",
    429: "it has too much to do already; ask again in a moment",
  };
  return new Fault("remote-failed", `${name} did not take the message`, {
    why: [...(means[status] ? [means[status]] : []), brief(refusal(status, body), 600)],
    next: next[status] ?? `clm agent doctor ${word}`,
    data: { status, session },
  });
}
