import type { AnswerFailure, FailureCause } from "../../agents/chat/failure.js";
import { refusal } from "../../agents/chat/stream.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { Fault } from "../../errors.js";

// Bytes.
const maxRefusal = 64 * 1024;

/** A signal that is also aborted when an agent sends nothing for `silence` milliseconds. */
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
  new Fault("remote-timeout", `${name} stopped answering`, {
    why: `it sent nothing for ${silence / 1000} s, not even a keep-alive`,
    next: `clm agent doctor ${ref}`,
  });

/** The beginning of a refusal's body: enough to show the reason. */
export async function bodyText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxRefusal) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function noAnswer({ name, ref }: ResolvedAgent, session: string, { cause, status, text }: AnswerFailure): Fault {
  const meaning = meanings[cause];
  return new Fault("remote-failed", `${name} got no answer from its model`, {
    why: [...(meaning ? [meaning] : []), brief(text, 600)],
    next: meaning ? `clm agent configure ${ref} --stage providers` : `clm agent doctor ${ref}`,
    data: { session, cause, ...(status !== undefined && { status }) },
  });
}

/** Causes that only another provider, key or model fixes. */
const meanings: Partial<Record<FailureCause, string>> = {
  "key-refused": "the provider refuses the key",
  "account-empty": "the provider's account has no credit left",
  "request-refused": "the provider refuses the request: the model may be unknown to it",
};

export function refused({ name, ref }: ResolvedAgent, session: string, status: number, body: string): Fault {
  const known: Record<number, [meaning: string, next: string]> = {
    401: ["it refuses its own key", `clm agent configure ${ref}`],
    413: ["the message is larger than it accepts", `clm chat ${ref} --help`],
    429: ["it is busy; try again in a moment", `clm chat ${ref} --session ${session}`],
  };
  const [meaning, next = `clm agent doctor ${ref}`] = known[status] ?? [];
  return new Fault("remote-failed", `${name} did not accept the message`, {
    why: [...(meaning ? [meaning] : []), brief(refusal(status, body), 600)],
    next,
    data: { status, session },
  });
}
