import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

export interface VendorRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface Vendor {
  /** `127.0.0.1:PORT`. */
  host: string;
  url: string;
  /** Every question so far. */
  asked: VendorRequest[];
  close(): Promise<void>;
}

/** A vendor of models on this machine's loopback, closed after each test. */
export function vendors(): (answer: (asked: VendorRequest, response: ServerResponse) => unknown) => Promise<Vendor> {
  const open: Vendor[] = [];
  afterEach(async () => {
    for (const vendor of open.splice(0)) await vendor.close();
  });
  return async (answer) => {
    const asked: VendorRequest[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { method = "", url: path = "", headers } = request;
      const question = { method, path, headers, body };
      asked.push(question);
      answer(question, response);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const close = () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
    const vendor = { host, url: `http://${host}`, asked, close };
    open.push(vendor);
    return vendor;
  };
}
