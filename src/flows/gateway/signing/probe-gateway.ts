import { readAll } from "../../../async/read-all.js";
import { Fault } from "../../../errors.js";
import { type CoveredHeaders, type Signer, signedHeaders } from "../../../gateway/signing/sign.js";
import { objectFrom } from "../../../text/json-object.js";
import { sendRequest } from "../../service/from-here.js";

export interface GatewayProbe {
  /** Models that the key may use. */
  models: string[];
  /** Why they are not known. It may have been fixed when a tool asks. */
  trouble?: string;
}

interface ProbeOptions {
  signer: Signer;
  to: URL;
  covered: CoveredHeaders;
  now: () => Date;
  signal: AbortSignal;
}

const timeout = 5000;
const mostBytes = 1_000_000;

/** Asks the gateway for its models with a signed request, so that a wrong key is found now and not by a tool. */
export async function probeGateway({ signer, to, covered, now, signal }: ProbeOptions): Promise<GatewayProbe> {
  const url = "/v1/models";
  const toSign = { method: "GET", url, body: Buffer.alloc(0), keyId: signer.id, now: now(), covered };
  const late = AbortSignal.timeout(timeout);
  const either = AbortSignal.any([signal, late]);
  let status: number | undefined;
  let body: string;
  try {
    const headers = signedHeaders(signer.secret, toSign);
    const answer = await sendRequest({ method: "GET", url: new URL(url, to), headers }, either);
    status = answer.statusCode;
    const tooMuch = () => new Fault("bad-input", `its answer is larger than ${mostBytes / 1e6} MB`);
    body = String(await readAll(answer, { signal: either, maxBytes: mostBytes, tooMuch }));
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException;
    const why = late.aborted ? `no answer within ${timeout / 1000} s` : (code ?? message);
    return { models: [], trouble: `the gateway at ${to.origin} does not answer yet (${why}): clm gateway serve` };
  }
  const answer = objectFrom<{ data?: unknown; error?: unknown }>(body);
  if (!answer) return { models: [], trouble: `${to.origin} is not a clm gateway: its answer is not JSON` };
  if (status === 200) {
    const models = modelsIn(answer);
    return { models, ...(models.length === 0 && { trouble: "the gateway has no agent that this key may use" }) };
  }
  const { message } = (answer.error ?? {}) as { message?: unknown };
  return { models: [], trouble: `the gateway refuses this key: ${message ?? `it answers with ${status}`}` };
}

/** Names that can be written to settings without quoting. */
function modelsIn({ data }: { data?: unknown }): string[] {
  const ids = Array.isArray(data) ? data.map((each: { id?: unknown } | null) => each?.id) : [];
  return ids.filter((id): id is string => typeof id === "string" && /^[\x21-\x7e]{1,256}$/.test(id));
}
