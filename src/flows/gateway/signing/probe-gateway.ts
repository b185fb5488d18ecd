import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { readAll } from "../../../async/read-all.js";
import { Fault } from "../../../errors.js";
import { signedHeaders } from "../../../gateway/signing/sign.js";
import type { Signer } from "../../../gateway/signing/signing-secret.js";

/** What a gateway says to a key. */
export interface GatewayProbe {
  /** What the key may use. */
  models: string[];
  /** Why that could not be seen. It may be otherwise when a tool asks. */
  trouble?: string;
}

interface ProbeOptions {
  signer: Signer;
  to: URL;
  now: () => Date;
  signal: AbortSignal;
}

const timeout = 5000;
const mostBytes = 1_000_000;

/** Asks the gateway for its models, signed as a tool's request will be: so a wrong key shows now, and not in a tool. */
export async function probeGateway({ signer, to, now, signal }: ProbeOptions): Promise<GatewayProbe> {
  const url = "/v1/models";
  const nonce = randomBytes(18).toString("base64url");
  const toSign = { method: "GET", url, body: Buffer.alloc(0), keyId: signer.id, now: now(), nonce };
  const late = AbortSignal.timeout(timeout);
  const either = AbortSignal.any([signal, late]);
  try {
    const answer = await new Promise<IncomingMessage>((done, failed) => {
      const send = to.protocol === "https:" ? httpsRequest : httpRequest;
      const options = { headers: signedHeaders(signer.secret, toSign), signal: either };
      send(new URL(url, to), options, done).on("error", failed).end();
    });
    const tooMuch = () => new Fault("bad-input", "the gateway said far more than a list of models");
    const said: unknown = JSON.parse(String(await readAll(answer, { signal: either, maxBytes: mostBytes, tooMuch })));
    if (answer.statusCode === 200) {
      const models = modelsIn(said);
      return { models, ...(models.length === 0 && { trouble: "the gateway has no agent that this key may use" }) };
    }
    const { message } = (said as { error?: { message?: unknown } }).error ?? {};
    return {
      models: [],
      trouble: `the gateway refuses this key: ${message ?? `it answers with ${answer.statusCode}`}`,
    };
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException;
    const why = late.aborted ? `nothing came within ${timeout / 1000} s` : (code ?? message);
    return { models: [], trouble: `the gateway at ${to.origin} does not answer yet (${why}): clm gateway serve` };
  }
}

/** Names that can be put into settings as they are. */
function modelsIn(said: unknown): string[] {
  const { data } = said as { data?: unknown };
  const ids = Array.isArray(data) ? data.map((each: { id?: unknown } | null) => each?.id) : [];
  return ids.filter((id): id is string => typeof id === "string" && /^[\x21-\x7e]{1,256}$/.test(id));
}
