import { request } from "node:http";
import type { Gateway } from "../../../src/gateway/server.js";
import { completion, type Responder } from "./test-gateway.js";

/** Agents and callers that do what none should, for tests of what that does to the others. */

export const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

const usageOf = (input: unknown, output: unknown) => ({
  prompt_tokens: input,
  completion_tokens: output,
  input_tokens: input,
  output_tokens: output,
});

const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] };

/** An agent whose sessions, responses and conversations have this many tokens each, which every call loads. */
export function agentWithHistory(tokens: number, wait = 5): Responder {
  let count = 0;
  return (response, { url, body }) => {
    const { stream } = JSON.parse(body) as { stream?: boolean };
    const usage = usageOf(tokens, 10);
    const id = `resp_${++count}`;
    setTimeout(() => {
      if (!stream) {
        response.writeHead(200, json);
        const whole = { id, object: "response", status: "completed", output: [message], usage };
        response.end(url === "/v1/responses" ? JSON.stringify(whole) : completion("hello", { usage }));
        return;
      }
      response.writeHead(200, events);
      const said =
        url === "/v1/responses"
          ? [
              { type: "response.created", response: { id } },
              { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "hello" },
              { type: "response.completed", response: { id, usage } },
            ]
          : [
              { choices: [{ index: 0, delta: { content: "hello" } }] },
              { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
            ];
      for (const each of said) response.write(`data: ${JSON.stringify(each)}\n\n`);
      response.end("data: [DONE]\n\n");
    }, wait);
  };
}

/** An agent that claims any usage. */
export const agentThatClaims =
  (input: unknown, output: unknown): Responder =>
  (response) => {
    response.writeHead(200, json);
    response.end(completion("hello", { usage: usageOf(input, output) }));
  };

/** An agent that repeats something endlessly, as fast as it is read. */
export const agentThatRepeats =
  (text: string): Responder =>
  (response) => {
    response.writeHead(200, events);
    const block = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
    const more = () => {
      while (!response.destroyed && response.write(block));
    };
    response.on("drain", more);
    more();
  };

export interface Sent {
  path?: string;
  headers?: Record<string, string>;
  body: string | Buffer;
  key?: string;
}

/**
 * A caller that sends many requests at once, each on a connection of its own, and reads every answer to its end. Gives their
 * statuses, 0 for a connection that broke.
 */
export function burst(gateway: Gateway, count: number, make: (index: number) => Sent): Promise<number>[] {
  return Array.from({ length: count }, (_, index) => {
    const { path = "/v1/chat/completions", headers, body, key = "good" } = make(index);
    return new Promise<number>((done) => {
      const sent = request({
        port: gateway.port,
        host: "127.0.0.1",
        method: "POST",
        path,
        agent: false,
        headers: { ...json, authorization: `Bearer ${key}`, "content-length": Buffer.byteLength(body), ...headers },
      });
      sent.on("response", (answer) => {
        answer.on("error", () => {}).on("close", () => done(answer.statusCode ?? 0));
        answer.resume();
      });
      sent.on("error", () => done(0)).end(body);
    });
  });
}
