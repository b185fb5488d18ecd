import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { Nonces } from "../../../../src/gateway/signing/nonces.js";
import type { Signer } from "../../../../src/gateway/signing/sign.js";
import { mustBeSigned } from "../../../../src/gateway/signing/verify.js";
import { covered } from "./covered.js";

export type Answer = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

/** A server that accepts only signed requests, with real nonces in a real folder. */
export async function verifying({ id, secret }: Signer, dir: string, answer: Answer) {
  const now = () => new Date();
  const nonces = await Nonces.open(dir, now);
  const key = { id } as GatewayKey;
  const keyring = {
    signed(asked: string) {
      return asked === id ? { key, secret } : undefined;
    },
  };
  const server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const { method = "", url = "", headers } = request;
      await mustBeSigned({ method, url, headers, body }, { keyring, nonces, covered, now });
      answer(request, body, response);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, "broken", String(error));
      response.writeHead(refusal.status, { "content-type": "application/json" }).end(refusal.body());
    }
  });
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await nonces.close();
    },
  };
}
