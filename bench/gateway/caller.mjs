import { once } from "node:events";
import { connect } from "node:net";

/**
 * Repeats one request on one kept connection. It does not use node:http, whose own time is longer than the measured
 * time and varies between requests.
 */
export class Caller {
  #port;
  #bearer;
  #model;
  #socket;

  constructor({ port, bearer, model }) {
    this.#port = port;
    this.#bearer = bearer;
    this.#model = model;
  }

  /** Milliseconds to the first byte of the answer's body, and to its last. */
  async ask({ stream = false } = {}) {
    if (!this.#socket || this.#socket.destroyed || this.#socket.readableEnded) await this.#open();
    const socket = this.#socket;
    const text = this.#request(stream);
    return new Promise((done, failed) => {
      const begin = performance.now();
      let heard = Buffer.alloc(0);
      let first;
      const end = (finish) => {
        socket.off("data", hear).off("close", lost);
        finish();
      };
      const hear = (chunk) => {
        heard = heard.length === 0 ? chunk : Buffer.concat([heard, chunk]);
        const state = readAnswer(heard);
        if (state.begun) first ??= performance.now() - begin;
        if (state.trouble) end(() => failed(new Error(state.trouble)));
        else if (state.over) end(() => done({ first, whole: performance.now() - begin }));
      };
      const lost = () => end(() => failed(new Error(`port ${this.#port} hung up`)));
      socket.on("data", hear).once("close", lost);
      socket.write(text);
    });
  }

  close() {
    this.#socket?.destroy();
  }

  async #open() {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    socket.on("error", () => {});
    this.#socket = socket;
  }

  #request(stream) {
    const messages = [{ role: "user", content: "Hello, how are you today?" }];
    const body = JSON.stringify({ model: this.#model, messages, ...(stream && { stream }) });
    const lines = [
      ...["POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"],
      ...[`Authorization: Bearer ${this.#bearer}`, `Content-Length: ${body.length}`],
    ];
    return `${lines.join("\r\n")}\r\n\r\n${body}`;
  }
}

const lastChunk = "\r\n0\r\n\r\n";

/** Whether an answer has begun and is complete, with a Content-Length or in chunks. */
export function readAnswer(heard) {
  const end = heard.indexOf("\r\n\r\n");
  if (end < 0) return { begun: false, over: false };
  const head = heard.toString("latin1", 0, end);
  const body = heard.subarray(end + 4);
  const begun = body.length > 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const over =
    length === undefined
      ? body.toString("latin1", body.length - lastChunk.length) === lastChunk
      : body.length >= Number(length);
  const trouble = over && !/^HTTP\/1\.1 200/.test(head) ? `${head.split("\r\n")[0]}: ${body}` : undefined;
  return { begun, over, trouble };
}
